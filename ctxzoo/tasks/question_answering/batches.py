"""Rows of a prepared SQuAD split as model inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.tasks.question_answering.preparation import PreparedSplit, PreparedTexts
from ctxzoo.tasks.question_answering.type_tables import TypeTables


@dataclass(frozen=True)
class LengthLimits:
    """The longest context, question and (in training) answer, in words."""

    context: int
    question: int
    answer: int | None = None


# oneDNN keeps compiled code for every length it meets, some 15 MB for a training step of BiDAF; with all lengths
# rounded up there are few of them.
LENGTH_MULTIPLE = 8

TRAINING_LIMITS = LengthLimits(context=400, question=50, answer=30)
EVALUATION_LIMITS = LengthLimits(context=1000, question=100)


def rows_within(split: PreparedSplit, limits: LengthLimits) -> npt.NDArray[np.int64]:
    """Return the rows that training keeps: nothing in them is longer than the limits."""
    keep = (split.contexts.lengths()[split.context_of] <= limits.context) & (
        split.questions.lengths() <= limits.question
    )
    if limits.answer is not None:
        keep &= split.spans[:, 1] - split.spans[:, 0] + 1 <= limits.answer
    return np.flatnonzero(keep)


class SquadBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a batch: the inputs of `BidafForQuestionAnswering.forward`, and `row`.

    Contexts and questions beyond the limits are cut; an answer that is cut off counts as "no answer" in the labels.

    Args:
        split: the words.
        tables: what each word is.
        rows: (n,) rows of the split that this dataset numbers 0..n-1.
        limits: where to cut.
    """

    def __init__(
        self, split: PreparedSplit, tables: TypeTables, rows: npt.NDArray[np.int64], limits: LengthLimits
    ) -> None:
        self.split = split
        self.tables = tables
        self.rows = rows
        self.limits = limits

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of context words of each row, shape (n,), for bucketing."""
        return self.split.contexts.lengths()[self.split.context_of[self.rows]]

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        rows = self.rows[np.asarray(numbers)]
        context, context_lengths = self._pad(self.split.contexts, self.split.context_of[rows], self.limits.context)
        question, question_lengths = self._pad(self.split.questions, rows, self.limits.question)
        tables = self.tables
        batch = {
            "input_ids": tables.word_ids[context],
            "attention_mask": context != tables.padding,
            "question_input_ids": tables.word_ids[question],
            "question_attention_mask": question != tables.padding,
        }
        if tables.char_ids is not None:
            batch["char_ids"] = tables.char_ids[context]
            batch["question_char_ids"] = tables.char_ids[question]
        if tables.forms is not None:
            batch["word_features"] = tables.features(context, context_lengths, question)
            batch["question_word_features"] = tables.features(question, question_lengths, context)
        # One is added for the extra token; "no answer", -1, becomes its position 0.
        spans = self.split.spans[rows].astype(np.int64) + 1
        spans[spans[:, 1] > self.limits.context] = 0
        batch |= {"start_positions": spans[:, 0], "end_positions": spans[:, 1], "row": rows}
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in batch.items()}

    def _pad(
        self, texts: PreparedTexts, which: npt.NDArray[np.integer], limit: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        begins = texts.pointers[which]
        lengths = np.minimum(texts.pointers[which + 1] - begins, limit)
        longest = -(-(1 + int(lengths.max())) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
        types = np.full((len(which), longest), self.tables.padding, np.int32)
        types[:, 0] = self.tables.extra
        for row, (begin, length) in enumerate(zip(begins, lengths, strict=True)):
            types[row, 1 : length + 1] = texts.types[begin : begin + length]
        return types, lengths
