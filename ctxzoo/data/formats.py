"""What datasets of every kind have in common: names of splits, the name of generated data, and an error."""

SAMPLE = "sample"  # the data that a problem generates
SPLITS = ("train", "validation", "test")


class TextFormatError(ValueError):
    """A row or column of a dataset is not as it should be."""
