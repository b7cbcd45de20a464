"""Batches of sentences with a label for each word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.text_encoding import EncodedTexts, Rows, pad_rows, text_inputs
from ctxzoo.models.ops_token_classification import IGNORED


class TokenBatches(Dataset[dict[str, torch.Tensor]]):
    """`batches[rows]` is a whole batch; see `TokenClassificationDataModule`.

    Args:
        texts: the ids, one for each word.
        labels: (all ids,), as `texts.ids`.
        rows: (n,) the sentences that this dataset numbers 0..n-1.
        pad_id: behind shorter sentences of a batch.
    """

    def __init__(self, texts: EncodedTexts, labels: npt.NDArray[np.int64], rows: Rows, pad_id: int) -> None:
        self.texts = texts
        self.labels = labels
        self.rows = rows
        self.pad_id = pad_id

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Words of each row, for bucketing."""
        return self.texts.lengths()[self.rows]

    def __getitem__(self, places: Sequence[int]) -> dict[str, torch.Tensor]:
        rows = self.rows[np.asarray(places)]
        batch = {
            **text_inputs(self.texts, rows, self.pad_id),
            "labels": pad_rows(self.labels, self.texts.pointers, rows, IGNORED),
            "row": rows,
        }
        return {name: torch.from_numpy(array) for name, array in batch.items()}
