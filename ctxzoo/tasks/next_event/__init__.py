"""Next event."""
