"""One training from settings to results, and many side by side."""
