"""A recommender from its training to what a user does with it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.sequences.experiments import build_session_paper_experiment
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION
from ctxzoo.tasks.sequences.sample import sample_sessions
from ctxzoo.tasks.session_recommendation import evaluate, recommend
from tests.hub.test_card import python_blocks
from tests.support.doors import printed_offline
from tests.tasks.sequences.test_training import COLUMNS, events


def run(folder: Path, model: str = "hcrnn3_bi", **changes: object) -> ExperimentRun:
    architecture = "hcrnn" if model.startswith("hcrnn") else "session_baseline"
    topics = {"num_topics": 4} if architecture == "hcrnn" else {}
    experiment = build_session_paper_experiment(architecture, model).copy_with(
        **{"recipe": "trial", "commit": "0123abc", "accelerator": "cpu", "tensorboard": False, "progress": False},
        **{"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")},
        **{"epochs": 1, "embedding_size": 8, "hidden_size": 8, **topics, **changes},
    )
    return ExperimentRun(SESSION_RECOMMENDATION, experiment)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    one = run(tmp_path_factory.mktemp("sessions"), epochs=4, learning_rate=0.02)
    return one, execute(one)


def assert_ranked(found: list[Any], expected: list[tuple[str, float]]) -> None:
    """Sessions that are read together are padded, so that probabilities differ by rounding."""
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-5)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    assert set(result.metrics) >= {"test/recall_at_20", "test/mrr_at_20", "test/nll", "validation/epoch4/mrr_at_20"}
    assert result.metrics["validation/epoch4/nll"] < result.metrics["validation/epoch1/nll"]
    assert result.metrics["test/recall_at_20"] > 55  # what is popular has 33
    assert "item_names" not in result.settings
    for picture in ("learning_curves.png", "drift.png"):
        assert (one.folder / picture).read_bytes()[:4] == b"\x89PNG"


def test_its_checkpoint_knows_the_names(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    checkpoint = one.checkpoint
    assert {"modeling_hcrnn.py", "modeling_session.py"} <= set(check_checkpoint_folder(checkpoint))
    found = recommend(checkpoint, ["tea 1", "tea 2", "tea 3"], k=48)
    assert sum(probability for _, probability in found) == pytest.approx(1, abs=1e-5)
    assert {name for name, _ in found} == set(one_data(one).names)
    assert evaluate(checkpoint, "sample", progress=False, accelerator="cpu")["nll"] == pytest.approx(
        result.metrics["test/nll"], rel=1e-5
    )


def one_data(one: ExperimentRun):  # type: ignore[no-untyped-def]
    data = one.build_data()
    data.setup()
    return data


@pytest.mark.slow
def test_the_programs_of_its_card_run(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = finished[0].checkpoint
    card = (checkpoint / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(checkpoint))
    assert "| recall@20 |" in card
    example, with_package, without_package = python_blocks(card)
    names: dict[str, object] = {}
    exec(example, names)
    exec(with_package, names)
    said = with_package.splitlines()[-1].removeprefix("# ")
    assert capsys.readouterr().out.strip() == said
    printed = printed_offline(f"{example}\n{without_package}", without_ctxzoo=True)
    assert printed.splitlines()[-1] == said


def test_commands(
    finished: tuple[ExperimentRun, RunResult],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, result = finished
    checkpoint = str(one.checkpoint)
    assert main(["verify", checkpoint]) == 0
    assert main(["info", checkpoint]) == 0
    told = capsys.readouterr().out
    assert "items: 48, with their names" in told
    assert "tea 7" not in told  # a list of all names would be long
    scores = tmp_path / "scores.json"
    command = ["evaluate", checkpoint, "--dataset", "sample", "--output", str(scores)]
    assert main(command) == 0
    assert json.loads(scores.read_text())["metrics"]["mrr_at_20"] == pytest.approx(result.metrics["test/mrr_at_20"])
    capsys.readouterr()
    assert main(["predict", checkpoint, "--history", "tea 1 | tea 2", "--top", "3", "--only_new", "yes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = recommend(checkpoint, ["tea 1", "tea 2"], k=3, only_new=True)
    assert lines == [f"{probability:.4f}  {name}" for name, probability in expected]
    events = tmp_path / "events.csv"
    events.write_text("who,item,time\n1,tea 2,5\n1,tea 1,4\n2,gold,1\n1,gold,6\n")
    out = tmp_path / "out.json"
    command = ["predict", checkpoint, "--file", str(events), "--user_column", "who", "--top", "2"]
    assert main([*command, "--output", str(out)]) == 0
    first, second = json.loads(out.read_text())
    assert_ranked(first["recommended"], recommend(checkpoint, ["tea 1", "tea 2"], k=2))
    assert (first["session_id"], first["left_out"]) == ("1", 1)
    assert "1 session without a known item, for which what is popular in training is recommended" in (
        capsys.readouterr().err
    )
    train = Counter(item for items in sample_sessions()["train"]["items"] for item in items)
    most, others = train.most_common(1)[0], train.total()
    assert (second["session_id"], second["left_out"], second["popular"]) == ("2", 1, True)
    assert second["recommended"][0] == [most[0], pytest.approx(most[1] / others)]
    capsys.readouterr()
    with events.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["predict", checkpoint, "--file", "-", "--user_column", "who", "--top", "2"]) == 0
    captured = capsys.readouterr()
    assert "the standard input is read as csv" in captured.err
    lines = [json.loads(line) for line in captured.out.splitlines()]
    assert [line["who"] for line in lines] == ["1", "2"]
    assert [[one["predicted_item"], one["probability"]] for one in lines[0]["predicted"]] == first["recommended"]
    table = tmp_path / "out.csv"
    assert main([*command, "--output", str(table)]) == 0
    header, *rows = [line.split(",") for line in table.read_text().splitlines()]
    assert header == ["who", "left_out", "rank", "predicted_item", "probability"]
    assert [row[:4] for row in rows] == [
        [user, "1", str(rank), item]
        for user, answer in (("1", first), ("2", second))
        for rank, (item, _) in enumerate(answer["recommended"], start=1)
    ]


@pytest.mark.parametrize("name", ["own.csv", "own.parquet"])
def test_events_in_a_file_are_read_as_their_sessions(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, name: str
) -> None:
    one, result = finished
    checkpoint, sessions = str(one.checkpoint), sample_sessions()["test"]["items"]
    file, out = events(tmp_path / name, sessions), tmp_path / "out.json"
    options = [*COLUMNS, "--output", str(out)]
    assert main(["evaluate", checkpoint, "--dataset", str(file), "--split", "train", *options]) == 0
    for score, value in json.loads(out.read_text())["metrics"].items():
        assert value == pytest.approx(result.metrics[f"test/{score}"], rel=1e-5), score
    events(file, sessions[:4])
    assert main(["predict", checkpoint, "--file", str(file), "--top", "2", *options]) == 0
    told = {row["session_id"]: row["recommended"] for row in json.loads(out.read_text())}
    for user in range(4):
        assert_ranked(told[str(user)], recommend(checkpoint, sessions[user], k=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --history, or --file"),
        (["--history", "tea 1", "--file", "a.csv"], "give either --history, or --file"),
        (["--history", "tea 1", "--output", "a.json"], "--output belongs to --file"),
        (["--file", "a.csv"], "no file 'a.csv'"),
        (["--file", "a.csv", "--output", "a.json"], "no file 'a.csv'"),
        (["--history", "gold | tea 1"], "does not know the item 'gold': expected one of its 48 names"),
        (["--history", "tea 1", "--top", "49"], "k=49: expected 1 to 48"),
    ],
)
def test_what_predict_does_not_take(
    finished: tuple[ExperimentRun, RunResult], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(finished[0].checkpoint), *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("model", ["hcrnn3_bi", pytest.param("narm", marks=pytest.mark.slow)])
def test_resumed_it_is_the_same_bit_for_bit(tmp_path: Path, model: str) -> None:
    whole, halves = (run(tmp_path / name, model, epochs=2) for name in ("whole", "halves"))
    execute(whole)
    execute(run(tmp_path / "halves", model, epochs=1))
    execute(halves, resume=True)
    first, second = (load_file(one.checkpoint / "model.safetensors") for one in (whole, halves))
    assert set(first) == set(second)
    assert all(torch.equal(first[name], second[name]) for name in first)
