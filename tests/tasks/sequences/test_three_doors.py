"""A checkpoint of sequences opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.cli.renew import write_published_folder
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.hub.published import Entry
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.results.result import write_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.next_event import next_events
from ctxzoo.tasks.session_recommendation import recommend
from tests.support.doors import packed_form
from tests.support.head_doors import HeadDoors, check_card, command_output
from tests.tasks.sequences.test_session_run import run

TIMES = [0.0, 3600.0, 500_000.0]
SESSIONS = HeadDoors("modeling_hcrnn", "HcrnnForNextItem", "model.recommend(model.config.item_names[:3], 5)")
EVENTS = HeadDoors(
    "modeling_time_encoder",
    "TimeEncoderForNextEvent",
    f"model.next_events(model.config.event_names[:3], {TIMES}, k=4)",
)


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door predicts what the model predicts here, and the card says what its programs print."""
    model, _ = load_saved_model(str(folder))
    history, packed = model.config.get_row_names()[:3], packed_form(folder, scratch)
    if model.zoo_task == "session-recommendation":
        doors, rel, expected = SESSIONS, 1e-5, recommend(folder, history, 5)
        rows, out = scratch / "events.csv", scratch / "out.json"
        names = [name for name, _ in expected]
        rows.write_text("user,item,time\n" + "\n".join(f"a,{name},{time}" for time, name in enumerate(names)))
        command_output(["predict", str(folder), "--file", str(rows), "--output", str(out), "--top", "5"])
        (told,) = json.loads(out.read_text())
        assert [name for name, _ in told["recommended"]] == [name for name, _ in recommend(folder, names, 5)]
    else:
        doors, rel, expected = EVENTS, 1e-4, next_events(folder, history, TIMES, k=4)
        typed = " | ".join(f"{event} @ {time}" for event, time in zip(history, TIMES, strict=True))
        printed = command_output(["predict", str(folder), "--history", typed, "--top", "4"]).splitlines()
        assert printed[-4:] == [f"{probability:.4f}  {name}" for name, probability in expected]
    for found in doors.opened(folder, packed):
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=rel)
    check_card(folder, packed)


@pytest.mark.slow
def test_a_recommender_opens_in_three_ways(tmp_path: Path) -> None:
    training = run(tmp_path, learning_rate=0.02)
    result = execute(training)
    write_published_folder(
        tmp_path / "sessions", training.checkpoint, Entry(result=write_result(result, tmp_path / "told"))
    )
    assert not [name for name in check_checkpoint_folder(tmp_path / "sessions") if "token" in name]
    check_doors(tmp_path / "sessions", tmp_path)
