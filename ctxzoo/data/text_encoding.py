"""Texts as ids, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.models.tokenization_word import WordTokenizer

CHUNK = 4096  # texts that are encoded in one call; bounds the memory that their ids take as Python lists

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as ids. Text t has `ids[pointers[t] : pointers[t + 1]]`.

    Attributes:
        ids: (all ids,) of words and n-grams.
        pointers: (texts + 1,).
        truncated: (texts,) whether known words were cut off.
    """

    ids: npt.NDArray[np.int32]
    pointers: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]

    def lengths(self) -> npt.NDArray[np.int64]:
        """Ids of each text."""
        return np.diff(self.pointers)


def encode_texts(tokenizer: WordTokenizer, texts: list[str], max_length: int | None) -> EncodedTexts:
    """Encode texts, cut to `max_length` known words where that is given."""
    ids: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
    lengths: list[int] = []
    cut_off: list[int] = []
    for start in range(0, len(texts), CHUNK):
        chunk = tokenizer(
            texts[start : start + CHUNK],
            truncation=max_length is not None,
            max_length=max_length,
            return_attention_mask=False,
            return_overflowing_tokens=True,
        )
        cut_off += chunk["num_truncated_tokens"]
        for row in chunk["input_ids"]:
            lengths.append(len(row))
            ids.append(np.array(row, np.int32))
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return EncodedTexts(np.concatenate(ids), pointers, np.array(cut_off, np.int64) > 0)


class TextBatches(Dataset[dict[str, torch.Tensor]]):
    """`batches[rows]` is a whole batch; see `TextClassificationDataModule`.

    Args:
        texts: the ids.
        labels: (texts,).
        rows: (n,) the texts that this dataset numbers 0..n-1.
    """

    def __init__(self, texts: EncodedTexts, labels: npt.NDArray[np.int64], rows: Rows) -> None:
        self.texts = texts
        self.labels = labels
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Ids of each row, for bucketing."""
        return self.texts.lengths()[self.rows]

    def __getitem__(self, places: Sequence[int]) -> dict[str, torch.Tensor]:
        rows = self.rows[np.asarray(places)]
        begins, ends = self.texts.pointers[rows], self.texts.pointers[rows + 1]
        # No text may have a known word; a model still wants one position.
        ids = np.zeros((len(rows), max(1, int((ends - begins).max()))), np.int64)
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            ids[place, : end - begin] = self.texts.ids[begin:end]
        batch = {
            "input_ids": ids,
            "attention_mask": (ids != 0).astype(np.int64),
            "labels": self.labels[rows],
            "row": rows,
        }
        return {name: torch.from_numpy(array) for name, array in batch.items()}
