"""Continuations of the pieces of a user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.row_stream import Row, RowStream
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
from ctxzoo.tasks.polyphonic_music.rolls import NOTES, notes_of_roll, roll_of_notes


class PieceAnswers:
    """The answers of a model of music to rows of a user's file, each the beginning of a piece.

    Args:
        model: A head of polyphonic music; it computes where it is.
        steps: To add.
        prompt_steps: Of a piece that are read; None: all.
        temperature, threshold: See `continue_roll`.
        seed: Of the draws for the first piece; each has the next one, whatever is read with it.
    """

    def __init__(
        self,
        model: ZooPreTrainedModel,
        *,
        steps: int,
        prompt_steps: int | None,
        temperature: float,
        threshold: float | None,
        seed: int,
    ) -> None:
        self.model = model
        self.steps = steps
        self.prompt_steps = prompt_steps
        self.temperature = temperature
        self.threshold = threshold
        self.seed = seed

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer]:
        """Return the answers to rows, in their order; `piece` of a row is its number, from 0."""
        found = [self.continued(row, row["piece"]) for row in rows]
        return [
            Answer({"continuation": one["continuation"]}, [{"continuation": one["continuation"]}], one) for one in found
        ]

    def continued(self, row: Mapping[str, Any], number: int = 0) -> dict[str, list[list[int]]]:
        """Return the keys of the steps that were read, `prompt`, and of those that are added, `continuation`."""
        prompt = roll_of_notes(row[NOTES][: self.prompt_steps])
        added = continue_roll(
            self.model,
            prompt,
            self.steps,
            temperature=self.temperature,
            threshold=self.threshold,
            generator=torch.Generator().manual_seed(self.seed + number),
        )
        return {"prompt": notes_of_roll(prompt), "continuation": notes_of_roll(added)}
