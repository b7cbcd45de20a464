"""A recommender's checkpoint opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.cli.renew import publish
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.results.result import write_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.session_recommendation import recommend
from tests.support.doors import packed_form
from tests.support.head_doors import HeadDoors, check_card, command_output
from tests.tasks.session_recommendation.test_run import run

LISTED = 5
DOORS = HeadDoors("modeling_hcrnn", "HcrnnForNextItem", f"model.recommend(model.config.item_names[:3], {LISTED})")


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door recommends what the model recommends here, and the card says what its programs print."""
    history = load_saved_model(str(folder))[0].config.item_names[:3]
    packed = packed_form(folder, scratch)
    expected = recommend(folder, history, LISTED)
    for found in DOORS.opened(folder, packed):
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-5)

    rows, out = scratch / "events.csv", scratch / "out.json"
    names = [name for name, _ in expected]
    rows.write_text("user,item,time\n" + "\n".join(f"a,{name},{time}" for time, name in enumerate(names)))
    command_output(["predict", str(folder), "--file", str(rows), "--output", str(out), "--top", str(LISTED)])
    (told,) = json.loads(out.read_text())
    assert [name for name, _ in told["recommended"]] == [name for name, _ in recommend(folder, names, LISTED)]
    check_card(folder, packed)


@pytest.mark.slow
def test_it_opens_in_three_ways(tmp_path: Path) -> None:
    training = run(tmp_path, learning_rate=0.02)
    result = execute(training)
    publish(tmp_path / "sessions", training.spec.checkpoint, write_result(result, tmp_path / "told"))
    assert not [name for name in check_checkpoint_folder(tmp_path / "sessions") if "token" in name]
    check_doors(tmp_path / "sessions", tmp_path)
