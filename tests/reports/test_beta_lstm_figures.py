"""The pictures of the gates, and of a piece from a checkpoint that a tiny training left."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from ctxzoo.runs.run import execute
from tests.support.recipe_here import recipe_here
from tests.tasks.polyphonic_music.test_run import run as music_run


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    training = music_run(tmp_path_factory.mktemp("figures"), learning_rate=0.02)
    execute(training)
    return str(training.checkpoint)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_figure_is_made(checkpoint: str, tmp_path: Path) -> None:
    run = recipe_here(tmp_path, "--music", checkpoint, name="beta_lstm_figures")
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "runs" / "beta_lstm_figures"
    assert {file.stem for file in folder.glob("*.png")} == {"roll", "densities"}
    assert set(json.loads((folder / "figures.json").read_text())) == {"roll", "densities"}

    steps = rows(folder, "roll")
    assert [row["step"] for row in steps] == [str(step) for step in range(1, len(steps) + 1)]
    for row in steps:
        assert len(row["keys"].split()) == len(row["probability of each"].split())
    against, alike = rows(folder, "densities")
    assert float(against["correlation"]) < -0.5 < 0.3 < float(alike["correlation"])
    for row in (against, alike):  # shapes of i and f are the same, so are their means
        assert float(row["mean of i"]) == pytest.approx(0.5, abs=0.01) == float(row["mean of f"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "figure3"), "error: only: unknown 'figure3'; known: roll, densities"),
        (("--only", "roll"), "error: --music names nothing; give a checkpoint folder or Hub id, or --only densities"),
    ],
)
def test_what_is_missing_is_told(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *arguments, name="beta_lstm_figures")
    assert run.returncode == 1
    assert run.stderr.startswith(message)
