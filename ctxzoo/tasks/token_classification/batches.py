"""Batches of sentences with a label for each word."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctxzoo.data.text_encoding import Rows, TextBatches, pad_rows
from ctxzoo.models.ops_losses import IGNORED


class TokenBatches(TextBatches):
    """The same with labels (all ids,), as `texts.ids`; see `TokenClassificationDataModule`."""

    def _labels_of(self, rows: Rows) -> npt.NDArray[np.int64]:
        """(B, n), `IGNORED` behind shorter sentences."""
        return pad_rows(self.labels, self.texts.pointers, rows, IGNORED)
