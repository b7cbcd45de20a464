"""A checkpoint of votes opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.vote_prediction import predict_votes
from ctxzoo.tasks.vote_prediction.card import TEXT
from tests.support.doors import packed_form
from tests.support.head_doors import HeadDoors, check_card, command_output

DOORS = HeadDoors(
    "modeling_nipen",
    "NipenForVotePrediction",
    f"[model.predict_votes({TEXT!r}), model.predict_votes({TEXT!r}, model.config.bill_names[0])]",
)


def same(found: list[list[Any]], wanted: list[tuple[str, float]]) -> bool:
    """Whether the same legislators stand there, with the same probabilities."""
    named = [name for name, _ in found] == [name for name, _ in wanted]
    return named and [yea for _, yea in found] == pytest.approx([yea for _, yea in wanted], rel=1e-4)


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door predicts what the model predicts here, of a new bill and a known one; and so says the card."""
    first = load_saved_model(str(folder))[0].config.bill_names[0]
    packed = packed_form(folder, scratch)
    new, known = predict_votes(folder, TEXT), predict_votes(folder, TEXT, first)
    assert len({round(yea, 3) for _, yea in new}) > 1
    for of_new, of_known in DOORS.opened(folder, packed):
        assert same(of_new, new)
        assert same(of_known, known)
    printed = command_output(["predict", str(folder), "--text", TEXT]).splitlines()
    assert printed[-len(new) :] == [f"{yea:.4f}  {name}" for name, yea in new]
    check_card(folder, packed)
