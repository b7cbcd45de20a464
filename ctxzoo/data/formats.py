"""What datasets of every kind have in common: names of splits, generated data, row numbers, errors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SAMPLE = "sample"  # the data that a problem generates
SPLITS = ("train", "validation", "test")
LABEL_SEPARATORS = (";", "|", ",")  # signs between labels that people write into one cell
Rows = npt.NDArray[np.int64]  # numbers of rows, counted from 0


class DatasetFileError(ValueError):
    """A data file exists but cannot be read."""


class TextFormatError(ValueError):
    """A row or column of a dataset is not as it should be."""
