"""A checkpoint of next events opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.next_event import next_events
from tests.support.head_doors import HeadDoors, check_card, command_output

EVENTS, TIMES, LISTED = [2, 1, 3], [0.0, 3600.0, 500_000.0], 4
DOORS = HeadDoors(
    "modeling_context_encoder", "ContextEncoderForNextEvent", f"model.next_events({EVENTS}, {TIMES}, k={LISTED})"
)


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door predicts what the model predicts here, and the card says what its programs print."""
    expected = next_events(folder, EVENTS, TIMES, k=LISTED)
    for found in DOORS.opened(folder):
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-4)
    config = load_saved_model(str(folder))[0].config
    typed = " | ".join(f"{config.name_of(event)} @ {time}" for event, time in zip(EVENTS, TIMES, strict=True))
    printed = command_output(["predict", str(folder), "--history", typed, "--top", str(LISTED)]).splitlines()
    assert printed[-LISTED:] == [f"{probability:.4f}  {name}" for name, probability in expected]
    check_card(folder)
