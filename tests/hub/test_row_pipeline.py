"""Pipelines of rows, sessions, events, votes, music and lines answer as `ctxzoo predict` does, one input or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.tasks import PROBLEMS, get_card
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_rows import EVENTS, FEATURES, ITEMS, LEGISLATORS, TARGET, WRITERS

NUMBERS = [[1.5, 2.0], [0.25, 2.25], [1.0, 1.75]]
# Inputs of each problem, and the rows of a file that say the same.
INPUTS: dict[str, tuple[list[Any], list[dict[str, Any]]]] = {
    "regression": (NUMBERS, [dict(zip(FEATURES, row, strict=True)) for row in NUMBERS]),
    "session-recommendation": (
        [["tea", "cup"], [10, "gone"]],
        [{"session_id": "0", "items": ["tea", "cup"]}, {"session_id": "1", "items": ["10", "gone"]}],
    ),
    "next-event": (
        [{"events": ["water", "feed"], "timestamps": [0, 7.5]}, {"events": ["trim"], "timestamps": [3]}],
        [
            {"history_id": "0", "events": ["water", "feed"], "timestamps": [0.0, 7.5]},
            {"history_id": "1", "events": ["trim"], "timestamps": [3.0]},
        ],
    ),
    "vote-prediction": (
        ["the old road", "a bridge"],
        [{"bill": "", "text": "the old road"}, {"bill": "", "text": "a bridge"}],
    ),
    "polyphonic-music": (
        [[[39, 43], [], [44]], [[12]]],
        [{"notes": [[39, 43], [], [44]]}, {"notes": [[12]]}],
    ),
    "language-modelling": (["the old", "a bridge"], [{"text": "the old"}, {"text": "a bridge"}]),
}
each_problem = pytest.mark.parametrize("problem", WRITERS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    return {problem: write(root / problem) for problem, write in WRITERS.items()}


def predicted(folder: Path, rows: list[dict[str, Any]]) -> Any:
    """The .json file that `ctxzoo predict` writes for rows, without their names."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["predict", str(folder), "--file", "rows.jsonl", "--output", "out.jsonl"]) == 0
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


@each_problem
def test_answers_are_those_of_predict(
    problem: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inputs, rows = INPUTS[problem]
    found, lines = ctxzoo.pipeline(folders[problem])(inputs), predicted(folders[problem], rows)
    for answer, line in zip(found, lines, strict=True):
        if problem == "regression":
            assert answer == {TARGET: pytest.approx(line[f"predicted_{TARGET}"])}
        elif problem in ("session-recommendation", "next-event"):
            (ranked,) = (value for value in answer.values() if isinstance(value, list))
            assert answer["left_out"] == line["left_out"]
            assert ranked == [pytest.approx(list(one.values())) for one in line["predicted"]]
        elif problem == "vote-prediction":
            assert answer["yea"] == pytest.approx(line["yea"])
            assert list(answer["yea"]) == LEGISLATORS
        else:
            assert answer["continuation"] == line["continuation"]


@each_problem
def test_one_input_is_answered_as_the_first_of_several(problem: str, folders: dict[str, Path]) -> None:
    pipeline, (inputs, _) = ctxzoo.pipeline(folders[problem]), INPUTS[problem]
    assert pipeline(inputs[0]) == pipeline(inputs[:1])[0]
    assert not pipeline.model.training


def test_rows_of_numbers_in_every_form(folders: dict[str, Path]) -> None:
    pipeline = ctxzoo.pipeline(folders["regression"])
    expected = pipeline(NUMBERS)
    assert pipeline(np.array(NUMBERS)) == expected
    assert pipeline(pd.DataFrame(NUMBERS, columns=FEATURES)[FEATURES[::-1]]) == expected
    assert pipeline([dict(zip(FEATURES, row, strict=True)) for row in NUMBERS]) == expected
    assert pipeline.model.predict(torch.tensor(NUMBERS))[:, 0].tolist() == [
        pytest.approx(one[TARGET]) for one in expected
    ]


def test_options_are_those_of_the_checkpoint_or_of_a_call(folders: dict[str, Path]) -> None:
    sessions = ctxzoo.pipeline(folders["session-recommendation"], top_k=2)
    assert len(sessions(["tea"])["recommended"]) == 2
    new = sessions(["tea"], top_k=3, only_new=True)["recommended"]
    assert {name for name, _ in new} == {*ITEMS} - {"tea"}
    assert len(ctxzoo.pipeline(folders["next-event"])(INPUTS["next-event"][0][0], top_k=1)["next"]) == 1
    music = ctxzoo.pipeline(folders["polyphonic-music"], steps=2)
    assert len(music([[39]])["continuation"]) == 2
    assert music([[39]], steps=5, seed=1) == music([[39]], steps=5, seed=1) != music([[39]], steps=5, seed=2)
    votes = ctxzoo.pipeline(folders["vote-prediction"])
    known = votes("the road", known={"": {"Ada": 1}})["yea"]
    assert known != votes("the road")["yea"]
    assert votes({"bill": "S. 1", "text": "the road", "legislator": "Ben"})["predicted_vote"] in ("yea", "nay")


def test_mistakes_are_told(folders: dict[str, Path]) -> None:
    with pytest.raises(TypeError, match="SessionPipeline has no option 'k'; it has top_k, only_new"):
        ctxzoo.pipeline(folders["session-recommendation"], k=3)
    with pytest.raises(ValueError, match="input 1 has 1 numbers; expected 2: height, width"):
        ctxzoo.pipeline(folders["regression"])([[1.0, 2.0], [1.0]])
    with pytest.raises(ValueError, match="no finite number in 'width' but 'nan'"):
        ctxzoo.pipeline(folders["regression"])([1.0, float("nan")])
    events = ctxzoo.pipeline(folders["next-event"])
    with pytest.raises(ValueError, match=r"input 0 is 'water'; expected a dict of 'events' and 'timestamps'"):
        events("water")
    with pytest.raises(ValueError, match="input 0 has 1 events and 2 times"):
        events({"events": EVENTS[:1], "timestamps": [0, 1]})
    with pytest.raises(ValueError, match="known has a vote of 'Eve', whom the model does not know"):
        ctxzoo.pipeline(folders["vote-prediction"])("the road", known={"": {"Eve": 1}})


def test_every_problem_has_a_pipeline() -> None:
    assert all(get_card(name).pipeline_at is not None for name in PROBLEMS)


CARDS = sorted(path.parent.name for path in (REPOSITORY_ROOT / "model_cards").glob("*/config.json"))


@pytest.mark.parametrize("name", CARDS)
def test_every_published_checkpoint_opens_and_answers(name: str) -> None:
    pipeline = ctxzoo.pipeline(REPOSITORY_ROOT / "model_cards" / name)
    model = pipeline.model
    inputs = {
        "question-answering": {"question": "Who is it?", "context": "It is Ada."},
        "session-recommendation": [[1, 2]],
        "next-event": {"events": [1, 2], "timestamps": [0, 5]},
        "polyphonic-music": [[39, 43]],
        "fill-mask": "the [MASK] .",
    }.get(model.zoo_task, "the road is old")
    if model.zoo_task in ("session-recommendation", "next-event"):
        names = model.config.get_row_names()[:2]
        inputs = names if model.zoo_task == "session-recommendation" else {"events": names, "timestamps": [0, 5]}
    assert pipeline(**inputs) if model.zoo_task == "question-answering" else pipeline(inputs)
