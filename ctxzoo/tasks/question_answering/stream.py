"""Questions from a stream: how they are checked, divided, and cut to what training reads."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.stream_pass import Keys, StreamReader, hash_texts
from ctxzoo.tasks.question_answering.batches import TRAINING_LIMITS, select_rows_within
from ctxzoo.tasks.question_answering.preparation import prepare_questions
from ctxzoo.tasks.question_answering.reader import COLUMNS, check_squad


class QuestionStreamReader(StreamReader):
    """Reads questions in the columns of SQuAD; those beyond the lengths of training are left out of train.

    Args:
        fix_answer_start: Whether an answer that is not at its stated offset is moved to its nearest occurrence.
    """

    unit, together = "questions", "questions on one context"
    from_sample = "the vocabulary and the simple model beside it"
    kinds = (".jsonl", ".parquet")
    samples_every_name = True

    def __init__(self, *, fix_answer_start: bool) -> None:
        self.fix_answer_start = fix_answer_start

    def describe(self) -> dict[str, Any]:
        return {"fix_answer_start": self.fix_answer_start}

    def check(self, location: str, rows: datasets.Dataset) -> pa.Table:
        checked = check_squad({"train": rows}, fix_answer_start=self.fix_answer_start, origin={"train": location})
        table: pa.Table = checked.splits["train"].select_columns(list(COLUMNS)).with_format("arrow")[:]
        return table

    def hash_rows(self, rows: pa.Table) -> Keys:
        return hash_texts(rows.column("context").to_pylist())

    def list_names(self, rows: pa.Table) -> pa.ChunkedArray:
        """Return whether each question has an answer, so that the sample shows whether some have none."""
        lengths = pc.list_value_length(pc.struct_field(rows.column("answers"), "text"))
        return pc.if_else(pc.greater(lengths, 0), "answered", "unanswered")

    def prepare_training(self, location: str, rows: pa.Table) -> pa.Table:
        if not len(rows):
            return rows
        _, split = prepare_questions(self.build_whole(rows, ()))
        kept = select_rows_within(split, TRAINING_LIMITS)
        limits = f"{TRAINING_LIMITS.context} words of context, {TRAINING_LIMITS.question} of question"
        beyond = f"training questions beyond {limits} or {TRAINING_LIMITS.answer} of answer, left out"
        record_note(location, beyond, len(rows) - len(kept))
        lengths = np.maximum(split.contexts.lengths()[split.context_of], split.questions.lengths())
        self.longest = max(self.longest, int(lengths[kept].max(initial=0)))
        return rows.take(pa.array(kept))
