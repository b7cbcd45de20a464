"""The pictures of the drift gate, from a checkpoint that a tiny training left."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ctxzoo.runs.run import execute
from ctxzoo.tasks.session_recommendation import drift_gates
from reports.hcrnn_figures import FIGURES, Settings, joined, read
from tests.support.recipe_here import recipe_here
from tests.tasks.sequences.test_session_run import run


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    training = run(tmp_path_factory.mktemp("figures"), learning_rate=0.02)
    execute(training)
    return str(training.checkpoint)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_figure_is_made(checkpoint: str, tmp_path: Path) -> None:
    options = ("--checkpoint", checkpoint, "--dataset", "sample", "--half", "2", "--topics", "2", "--top", "3")
    made = recipe_here(tmp_path, *options, name="hcrnn_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "hcrnn_figures"
    assert {file.stem for file in folder.glob("*.png")} == set(FIGURES)
    assert set(json.loads((folder / "figures.json").read_text())) == set(FIGURES)

    model, sessions = read(Settings(checkpoint=checkpoint, dataset="sample", half=2))
    places = rows(folder, "change")
    assert [row["place"] for row in places] == ["-2", "-1", "0", "1"]
    assert [row["p of the paired t-test"] == "" for row in places] == [True, True, False, False]
    last = np.mean([drift_gates(model, one)[-1].mean() for one in joined(sessions, 2)])
    assert float(places[-1]["another session follows"]) == pytest.approx(last, abs=1e-4)
    assert len(rows(folder, "drift")) == 4
    largest = rows(folder, "contexts")[0]
    assert 1 / model.config.num_topics < float(largest["mean"]) <= float(largest["percentile 95"]) <= 1
    assert len(rows(folder, "topics")) == 6


def test_the_second_half_is_that_of_the_next_session() -> None:
    assert joined([list("abcde"), list("pqrs")], 2) == [list("abrs"), list("pqcd")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--checkpoint names nothing"),
        (("--checkpoint", "x", "--only", "gates"), "unknown 'gates'; known: drift, change, contexts, topics"),
        (("--checkpoint", "x", "--half", "0"), "half=0: expected 1 or more"),
        (("--half", "60"), "have 120 items; choose a smaller one"),
    ],
)
def test_bad_options_are_named(checkpoint: str, options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    given = options if options[:1] != ("--half",) else ("--checkpoint", checkpoint, "--dataset", "sample", *options)
    refused = recipe_here(tmp_path, *given, name="hcrnn_figures")
    assert refused.returncode != 0
    assert message in refused.stderr
