"""`BatchPredictor`: what a checkpoint predicts for batches of rows, in workers of an engine that shares them out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.data.answer_files import join_fields
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks import get_problem


class BatchPredictor:
    """What a checkpoint predicts for batches of rows: a function for `datasets.map`, Ray Data, Spark and their like.

    Args:
        checkpoint: Folder or Hub id with model and tokenizer, which every worker reads by itself.
        device: Device of the model, such as "cuda"; default: the CPU.
        batch_size: Number of rows that the model reads at once.
        skip_bad: Whether bad rows are left out, with a warning that says how many; otherwise one is an error.
        options: Options of `ctxzoo predict` that the problem has, such as text_column.

    Raises:
        OSError, ValueError: see `ctxzoo.pipeline`; an option that does not fit the model.
        TypeError: an option that the problem does not have.
    """

    def __init__(
        self,
        checkpoint: str | Path,
        *,
        device: str = "cpu",
        batch_size: int = 32,
        skip_bad: bool = False,
        **options: Any,
    ) -> None:
        card, saved = open_checkpoint(str(checkpoint))
        self.problem, self.skip_bad = get_problem(card.name), skip_bad
        known = [option.name for option in self.problem.options("serve")]
        if unknown := [name for name in options if name not in known]:
            raise TypeError(f"{card.name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        self.options = {**dict.fromkeys(known), **options}
        model, tokenizer = saved.load()
        self.build_answers = self.problem.prepare_answers(
            model.to(device), tokenizer, self.options, batch_size=batch_size
        )

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the columns of a batch, and behind them those that `ctxzoo predict` writes into a .jsonl file.

        The rows of one session, history, or whatever else several rows make, must be in one batch; each such thing is
        a row of the answer.

        Args:
            batch: Values of each column, lists or arrays of one length.

        Raises:
            ValueError, TypeError: rows that are not as they should be; the message says which and why.
        """
        columns = [getattr(values, "tolist", lambda values=values: list(values))() for values in batch.values()]
        rows = [dict(zip(batch, values, strict=True)) for values in zip(*columns, strict=True)]
        with collect_reading_notes(skip_bad=self.skip_bad) as notes:
            stream, answers = self.problem.stream_rows("the batch", rows, self.options), self.build_answers()
            found = [
                join_fields(row, answer)
                for chunk in stream.chunks
                for row, answer in zip(chunk, answers(chunk, stream), strict=True)
                if answer is not None
            ]
        if lines := notes.format_lines():
            warnings.warn("\n".join(line.removeprefix("note: ") for line in lines), stacklevel=2)
        return {name: [row.get(name) for row in found] for name in dict.fromkeys(chain(*found))}
