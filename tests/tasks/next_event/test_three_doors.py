"""A checkpoint of next events opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.next_event import next_events
from tests.support.doors import packed_form
from tests.support.head_doors import HeadDoors, check_card, command_output

TIMES, LISTED = [0.0, 3600.0, 500_000.0], 4
DOORS = HeadDoors(
    "modeling_time_encoder",
    "TimeEncoderForNextEvent",
    f"model.next_events(model.config.event_names[:3], {TIMES}, k={LISTED})",
)


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door predicts what the model predicts here, and the card says what its programs print."""
    events = load_saved_model(str(folder))[0].config.event_names[:3]
    packed = packed_form(folder, scratch)
    expected = next_events(folder, events, TIMES, k=LISTED)
    for found in DOORS.opened(folder, packed):
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-4)
    typed = " | ".join(f"{event} @ {time}" for event, time in zip(events, TIMES, strict=True))
    printed = command_output(["predict", str(folder), "--history", typed, "--top", str(LISTED)]).splitlines()
    assert printed[-LISTED:] == [f"{probability:.4f}  {name}" for name, probability in expected]
    check_card(folder, packed)
