"""The pictures of the gates, from checkpoints that tiny trainings left."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from ctxzoo.runs.run import execute
from tests.support.classifier_runs import classifier_run
from tests.support.recipe_here import recipe_here
from tests.tasks.polyphonic_music.test_run import run as music_run

SENTENCE = "a sturdy lamp , but the box was late"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("figures")
    texts = classifier_run(folder, architecture="beta_lstm", variant="bibeta5", hidden_size=5, num_layers=1)
    music = music_run(folder, learning_rate=0.02)
    for run in (texts, music):
        execute(run)
    return str(texts.checkpoint), str(music.checkpoint)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_figure_is_made(checkpoints: tuple[str, str], tmp_path: Path) -> None:
    texts, music = checkpoints
    options = ("--texts", texts, "--music", music, "--sentence", SENTENCE)
    run = recipe_here(tmp_path, *options, name="beta_lstm_figures")
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "runs" / "beta_lstm_figures"
    assert {file.stem for file in folder.glob("*.png")} == {"words", "roll", "densities"}
    assert set(json.loads((folder / "figures.json").read_text())) == {"words", "roll", "densities"}

    words = rows(folder, "words")
    assert [row["word"] for row in words] == [
        word for word in SENTENCE.split() if word in {row["word"] for row in words}
    ]
    assert len(words) >= 3
    assert all(0 < float(row["input_gate"]) < 1 and -1 < float(row["correlation"]) < 1 for row in words)
    steps = rows(folder, "roll")
    assert [row["step"] for row in steps] == [str(step) for step in range(1, len(steps) + 1)]
    for row in steps:
        assert len(row["keys"].split()) == len(row["probability of each"].split())
    before, after = rows(folder, "densities")
    assert (before["training"], after["training"]) == ("before", "after")
    assert before["unit"] == after["unit"]
    assert before["correlation"] != after["correlation"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "figure3"), "error: only: unknown 'figure3'; known: words, roll, densities"),
        (("--only", "roll"), "error: --music names nothing; give a checkpoint folder or Hub id, or choose by --only"),
        (("--music", "m", "--only", "words"), "error: --texts names nothing"),
    ],
)
def test_what_is_missing_is_told(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *arguments, name="beta_lstm_figures")
    assert run.returncode == 1
    assert run.stderr.startswith(message)
