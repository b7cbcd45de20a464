"""A model of music from its training to what a user does with it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import CheckpointFolderError, check_checkpoint_folder
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.polyphonic_music.experiments import build_paper_experiment, set_dataset_and_cell
from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi, write_midi
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.tasks.polyphonic_music.task import MusicScores
from tests.hub.test_card import python_blocks

NOTES = [[27, 43, 46, 51], [27, 43, 48, 51], [29, 41, 46, 50]]


def run(folder: Path, cell: str = "bibeta5_prior", **changes: Any) -> ExperimentRun:
    experiment = build_paper_experiment().copy_with(
        **{"recipe": "trial", "commit": "0123abc", "accelerator": "cpu", "tensorboard": False, "progress": False},
        **{"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")},
        **{"epochs": 1, "hidden_size": 6, "batch_size": 20, **changes},
    )
    return ExperimentRun(POLYPHONIC_MUSIC, set_dataset_and_cell(experiment, "sample", cell))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    one = run(tmp_path_factory.mktemp("music"), epochs=3, learning_rate=0.02)
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    assert set(result.metrics) >= {"test/nll", "test/frame_accuracy", "validation/epoch3/nll", "train/epoch1/loss"}
    assert result.metrics["validation/epoch3/nll"] < result.metrics["validation/epoch1/nll"] < 60.0
    assert result.settings["kl_lambda"] == 1e-3
    assert result.tag == ""
    for picture in ("roll.png", "learning_curves.png"):
        assert (one.folder / picture).read_bytes()[:4] == b"\x89PNG"


def test_its_checkpoint_has_no_tokenizer(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    checkpoint = finished[0].checkpoint
    names = check_checkpoint_folder(checkpoint)
    assert "modeling_beta_lstm.py" in names
    assert not any("token" in name for name in names)
    card = (checkpoint / "README.md").read_text(encoding="utf-8")
    assert "tokenization" not in card
    assert "| negative log-likelihood of a step (nats) |" in card
    (checkpoint / "tokenizer.json").write_text("{}")
    try:
        with pytest.raises(CheckpointFolderError, match=r"holds tokenizer\.json"):
            check_checkpoint_folder(checkpoint)
    finally:
        (checkpoint / "tokenizer.json").unlink()


def test_the_programs_of_its_card_run(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = finished[0].checkpoint
    card = (checkpoint / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(checkpoint))
    example, with_package, _ = python_blocks(card)
    names: dict[str, object] = {}
    exec(example, names)
    exec(with_package, names)
    assert capsys.readouterr().out.strip() == with_package.splitlines()[-1].removeprefix("# ")


def test_another_head_of_transformers_gives_the_same_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    from ctxzoo.tasks.polyphonic_music import evaluate

    one, result = finished
    model = AutoModelForTokenClassification.from_pretrained(one.checkpoint)
    for checkpoint in (one.checkpoint, model):
        scores = evaluate(checkpoint, "sample", progress=False, accelerator="cpu")
        assert scores["nll"] == pytest.approx(result.metrics["test/nll"], rel=1e-6)


def test_commands(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, result = finished
    checkpoint = str(one.checkpoint)
    assert main(["verify", checkpoint]) == 0
    assert main(["info", checkpoint]) == 0
    assert "keys: reads 88, predicts 88" in capsys.readouterr().out
    scores = tmp_path / "scores.json"
    assert main(["evaluate", checkpoint, "--dataset", "sample", "--output", str(scores)]) == 0
    assert json.loads(scores.read_text())["metrics"]["nll"] == pytest.approx(result.metrics["test/nll"])
    begin, out, picture = (tmp_path / name for name in ("begin.mid", "out.mid", "roll.png"))
    write_midi(NOTES, begin, Grid(1))
    command = ["predict", checkpoint, "--file", str(begin), "--steps_per_beat", "1", "--steps", "5"]
    assert main([*command, "--output", str(out), "--picture", str(picture), "--draw_seed", "7"]) == 0
    assert "5 steps behind 3: " in capsys.readouterr().out
    assert read_midi(out, Grid(1))[:3] == NOTES
    assert picture.read_bytes()[:4] == b"\x89PNG"
    notes = tmp_path / "out.json"
    assert main([*command, "--output", str(notes), "--draw_seed", "7", "--prompt_steps", "2"]) == 0
    content = json.loads(notes.read_text())
    assert content["prompt"] == NOTES[:2]
    assert len(content["continuation"]) == 5
    rows = tmp_path / "songs.jsonl"
    rows.write_text("".join(json.dumps({"notes": piece}) + "\n" for piece in ([[1]], NOTES)))
    assert main(["predict", checkpoint, "--file", str(rows), "--row", "1", "--output", str(notes)]) == 0
    second = json.loads(notes.read_text())
    assert second["prompt"] == NOTES
    capsys.readouterr()
    assert main(["predict", checkpoint, "--file", str(rows), "--steps", "4", "--threshold", "0.3"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["piece"], line["notes"], len(line["continuation"])) for line in lines] == [
        (0, [[1]], 4),
        (1, NOTES, 4),
    ]
    one = ["predict", checkpoint, "--file", str(rows), "--steps", "4", "--threshold", "0.3", "--row", "1"]
    assert main([*one, "--output", str(notes)]) == 0
    assert json.loads(notes.read_text())["continuation"] == lines[1]["continuation"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "a.mid"], "give --file, a .mid, .jsonl or .parquet file"),
        (["--file", "songs.jsonl", "--output", "a.csv", "--picture", "a.png"], "--picture is of one piece"),
        (["--file", "songs.jsonl", "--output", "a.wav"], "--output a.wav: expected a name that ends in .mid"),
        (["--file", "none.mid", "--output", "a.mid"], "no file 'none.mid'"),
        (["--file", "songs.jsonl", "--row", "1", "--output", "a.mid"], "--row 1: songs.jsonl has 1 piece;"),
        (["--file", "songs.jsonl", "--output", "a.mid", "--steps_per_beat", "-1"], "steps_per_beat=-1.0: expected"),
        (
            ["--file", "songs.jsonl", "--output", "a.mid", "--threshold", "0.5", "--temperature", "2"],
            "give either --threshold or --temperature",
        ),
    ],
)
def test_what_predict_does_not_take(
    finished: tuple[ExperimentRun, RunResult],
    tmp_path: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "songs.jsonl").write_text('{"notes": [[1], [2]]}\n')
    assert main(["predict", str(finished[0].checkpoint), *options]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["songs.jsonl"]


@pytest.mark.slow
def test_resumed_with_drawn_gates_it_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    changes = {"kl_annealing": "linear", "kl_annealing_epochs": 3, "divide_after": 0, "weight_dropout": 0.1}
    whole, halves = (run(tmp_path / name, epochs=2, **changes) for name in ("whole", "halves"))
    execute(whole)
    execute(run(tmp_path / "halves", epochs=1, **changes))
    execute(halves, resume=True)
    first, second = (load_file(one.checkpoint / "model.safetensors") for one in (whole, halves))
    assert set(first) == set(second)
    assert all(torch.equal(first[name], second[name]) for name in first)
    once = load_file(execute_and_return(run(tmp_path / "once", epochs=1, **changes)))
    assert any(not torch.equal(first[name], once[name]) for name in first)


def execute_and_return(one: ExperimentRun) -> Path:
    execute(one)
    return one.checkpoint / "model.safetensors"


def test_the_rate_is_divided_when_an_epoch_is_worse_than_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for divide_by, divided in ((2.0, 1), (1.0, 0)):
        told = iter([5.0, 6.0, 5.5, 7.0, *[1.0] * 4])  # four epochs, then what is scored at the end
        found = partial(next, told)
        monkeypatch.setattr(MusicScores, "compute", lambda _, found=found: {"nll": found(), "frame_accuracy": 0.0})
        one = run(tmp_path / str(divide_by), "lstm", epochs=4, divide_by=divide_by, divide_after=2)
        execute(one)
        state = torch.load(one.folder / "lightning" / "last.ckpt", weights_only=True)
        # The second epoch is worse too, but never divides; the third is not; the fourth is, the last.
        assert state["optimizer_states"][0]["param_groups"][0]["lr"] == pytest.approx(2e-3 / divide_by**divided)
        assert state["epoch"] == 3


def test_gates_may_have_their_means_in_training(tmp_path: Path) -> None:
    drawn, means = run(tmp_path), run(tmp_path, gate_sampling="mean")
    assert [one.settings["gate_sampling"] for one in (drawn, means)] == ["auto", "mean"]
    assert [one.experiment.model.get_config_changes().get("gate_sampling") for one in (drawn, means)] == [None, "mean"]
