"""Token classification: one label for each word."""
