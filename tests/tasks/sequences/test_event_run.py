"""A model of next events from its training to what a user does with it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch

from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.next_event import evaluate, next_events, time_kernel
from ctxzoo.tasks.sequences.experiments import build_event_paper_experiment
from ctxzoo.tasks.sequences.problem import NEXT_EVENT
from tests.support.own_trainings import config_of
from tests.tasks.sequences.test_three_doors import check_doors

HISTORY, TIMES = ["water", "feed", "prune"], [0.0, 3600.0, 500_000.0]


def run(folder: Path, encoding: str = "lste_behaviour") -> ExperimentRun:
    experiment = build_event_paper_experiment("time_encoder", encoding).copy_with(
        **{"epochs": 8, "hidden_size": 16, "num_frequencies": 4, "learning_rate": 0.02},
        **{"recipe": "trial", "commit": "0123abc", "accelerator": "cpu", "tensorboard": False, "progress": False},
        **{"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")},
    )
    return ExperimentRun(NEXT_EVENT, experiment)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    one = run(tmp_path_factory.mktemp("events"))
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    assert result.metrics["test/recall_at_1"] > 50  # what is frequent has 46.6
    assert "event_names" not in result.settings
    for picture in ("learning_curves.png", "time_kernel.png"):
        assert (one.folder / picture).read_bytes()[:4] == b"\x89PNG"


def test_its_checkpoint_knows_names_and_clock(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    checkpoint = one.checkpoint
    assert "tokenization_word.py" not in check_checkpoint_folder(checkpoint)
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["time_unit"] == pytest.approx(190_650.8, abs=0.1)
    found = next_events(checkpoint, HISTORY, TIMES, k=5)
    assert {name for name, _ in found} == {"water", "feed", "prune", "repot", "spray"}
    shifted = next_events(checkpoint, HISTORY, [time + 2.0**30 for time in TIMES], k=5)
    assert [name for name, _ in shifted] == [name for name, _ in found]
    scores = evaluate(checkpoint, "sample", progress=False, accelerator="cpu")
    assert scores["mrr_at_20"] == pytest.approx(result.metrics["test/mrr_at_20"], rel=1e-5)


@pytest.mark.slow
def test_it_opens_in_three_ways(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    check_doors(finished[0].checkpoint, tmp_path)


def test_commands(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = str(finished[0].checkpoint)
    assert main(["verify", checkpoint]) == 0
    assert main(["info", checkpoint]) == 0
    assert "events: 5, with their names" in capsys.readouterr().out
    typed = "water @ 0 | feed @ 3600 | prune @ 5e5"
    assert main(["predict", checkpoint, "--history", typed, "--top", "2"]) == 0
    expected = next_events(checkpoint, HISTORY, TIMES, k=2)
    assert capsys.readouterr().out.splitlines() == [f"{probability:.4f}  {name}" for name, probability in expected]
    events, out = tmp_path / "events.csv", tmp_path / "out.json"
    events.write_text("user,item,time\n1,prune,500000\n1,feed,3600\n1,water,0\n1,dig,7\n2,dig,1\n")
    assert main(["predict", checkpoint, "--file", str(events), "--top", "2", "--output", str(out)]) == 0
    first, second = json.loads(out.read_text())
    assert first == {"history_id": "1", "left_out": 1, "next": [list(pair) for pair in expected]}
    assert second == {"history_id": "2", "left_out": 1, "next": []}
    table = tmp_path / "out.csv"
    assert main(["predict", checkpoint, "--file", str(events), "--top", "2", "--output", str(table)]) == 0
    header, *rows = [line.split(",") for line in table.read_text().splitlines()]
    assert header == ["user", "left_out", "rank", "predicted_event", "probability"]
    assert [row[:4] for row in rows] == [
        *(["1", "1", str(rank), name] for rank, (name, _) in enumerate(expected, start=1)),
        ["2", "1", "", ""],
    ]
    for options, message in (
        ([], "give either --history, or --file"),
        (["--history", "water"], "'water' is no event with a time"),
        (["--history", "dig @ 3"], "does not know the event 'dig'"),
        (["--history", "water @ soon"], "timestamps begins with 'soon', which is no time"),
        (["--history", "water @ 0 | feed @ inf"], "timestamps holds inf; expected finite numbers"),
        (["--history", "water @ 5 | feed @ 1"], "is 1.0, before an earlier event at 5.0; sort the events"),
        (["--file", "a.csv", "--output", "a.json"], "no file 'a.csv'"),
    ):
        assert main(["predict", checkpoint, *options]) == 2
        assert message in capsys.readouterr().err


def test_typed_histories() -> None:
    assert NEXT_EVENT.parse_history(["a @ b @ 1e3", "c@-2"]) == (["a @ b", "c"], [1000.0, -2.0])


def test_the_picture_is_of_the_kernel(finished: tuple[ExperimentRun, RunResult]) -> None:
    from ctxzoo.hub.saved_model import load_saved_model

    model, _ = load_saved_model(str(finished[0].checkpoint))
    kernel, power, gaps = time_kernel(model, HISTORY, TIMES)
    assert np.allclose((power * gaps).sum(axis=-1), kernel, atol=1e-5)
    assert np.linalg.eigvalsh(kernel).min() > -1e-5
    with pytest.raises(ValueError, match="2 timestamps of 3 events"):
        time_kernel(model, HISTORY, TIMES[:2])


def test_events_of_ones_own_go_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["who,what,when"] + [f"{user},{(7 * user + n * n) % 5},{n * n}" for user in range(30) for n in range(6)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    columns = ["--user_column", "who", "--item_column", "what", "--time_column", "when"]
    assert main(["train", "next-event", "--data", "own.csv", "--tiny", *columns]) == 0
    said = capsys.readouterr().out
    assert "own.csv: 30 histories: " in said
    (printed,) = (line for line in said.splitlines() if line.startswith("    ctxzoo predict"))
    assert main(shlex.split(printed)[1:]) == 0  # as it stands there
    assert {line.split()[1] for line in capsys.readouterr().out.splitlines()} == set("01234")  # all: fewer than ten
    (checkpoint,) = Path("runs").rglob("checkpoint")
    dates = "0 @ 1970-01-01 | 4 @ 1970-01-02T00:00:30"  # read as a file of events is
    answers = []
    for typed in (dates, "0 @ 0 | 4 @ 86430"):
        assert main(["predict", str(checkpoint), "--history", typed]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("settings", ["default", "paper"])
def test_every_setting_makes_a_model(settings: str) -> None:
    from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig

    for variant in NEXT_EVENT.get_variants("time_encoder"):
        experiment = NEXT_EVENT.get_settings(settings, "time_encoder", variant)
        for one in (experiment, NEXT_EVENT.make_tiny(experiment)):
            NEXT_EVENT.check(one)
            TimeEncoderConfig(**config_of(one))


def test_another_seed_draws_another_model(tmp_path: Path) -> None:
    weights = []
    for seed in (0, 1):
        data = run(tmp_path).build_data()
        data.setup()
        torch.manual_seed(seed)
        weights.append(run(tmp_path).build_task(data, 1).model.encoder.time.local_encoding.behaviour.hidden.weight)
    assert not torch.equal(*weights)
