"""Batches of sentences with a label for each word."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctxzoo.data.formats import Rows
from ctxzoo.data.text_encoding import TextBatches, pad_rows
from ctxzoo.models.ops_losses import IGNORED


class TokenBatches(TextBatches):
    """`TextBatches` with a label for each word: `labels` has shape (all ids,), in the order of `texts.ids`."""

    def _labels_of(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the labels of rows, (B, n), with `IGNORED` behind shorter sentences."""
        return pad_rows(self.labels, self.texts.pointers, rows, IGNORED)
