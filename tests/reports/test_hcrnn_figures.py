"""The pictures of the drift gate, from a checkpoint that a tiny training left."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ctxzoo.runs.run import execute
from ctxzoo.tasks.session_recommendation import drift_gates
from reports.hcrnn_figures import FIGURES, Settings, draw_next_items, join_session_halves, load_model_and_sessions
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
    options = ("--checkpoint", checkpoint, "--dataset", "sample", "--half", "2", "--steps", "3", "--top", "4")
    made = recipe_here(tmp_path, *options, name="hcrnn_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "hcrnn_figures"
    assert {file.name for file in folder.glob("*.png")} == {"next_items.png"}
    assert set(json.loads((folder / "figures.json").read_text())) == set(FIGURES)

    model, sessions = load_model_and_sessions(Settings(checkpoint=checkpoint, dataset="sample", half=2))
    places = rows(folder, "change")
    assert [row["place"] for row in places] == ["-2", "-1", "0", "1"]
    assert [row["p of the paired t-test"] == "" for row in places] == [True, True, False, False]
    last = np.mean([drift_gates(model, one)[-1].mean() for one in join_session_halves(sessions, 2)])
    assert float(places[-1]["another session follows"]) == pytest.approx(last, abs=1e-4)
    largest = rows(folder, "contexts")[0]
    assert 1 / model.config.num_topics < float(largest["mean"]) <= float(largest["percentile 95"]) <= 1


def test_each_cell_has_the_probability_behind_the_items_so_far(
    checkpoint: str, tmp_path: Path, drawn: list[Figure]
) -> None:
    table = draw_next_items(Settings(checkpoint=checkpoint, first="tea 1", steps=3, top=4), tmp_path)[1:]
    model = load_model_and_sessions(Settings(checkpoint=checkpoint, dataset="sample", half=2))[0]
    session = [str(row[1]) for row in table[::4]]
    assert session[0] == "tea 1"
    assert session[2] == model.recommend(session[:2], 1, only_new=True)[0][0]  # it follows the first suggestion
    assert [row[2] for row in table[-4:]] == [name for name, _ in model.recommend(session, 4)]
    axes = drawn[0].axes[0]
    for place, row in enumerate(table):  # columns of steps, rows of items
        probability = dict(model.recommend(session[: place // 4 + 1], model.config.num_items))[row[2]]
        assert axes.images[0].get_array()[place % 4, place // 4] == pytest.approx(100 * probability, abs=1e-3)
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"{n}. {s}" for n, s in enumerate(session, 1)]


def test_the_second_half_is_that_of_the_next_session() -> None:
    assert join_session_halves([list("abcde"), list("pqrs")], 2) == [list("abrs"), list("pqcd")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--checkpoint names nothing"),
        (("--checkpoint", "x", "--only", "gates"), "unknown 'gates'; known: next_items, change, contexts"),
        (("--checkpoint", "x", "--half", "0"), "half=0: expected 1 or more"),
        (("--half", "60"), "have 120 items; choose a smaller one"),
    ],
)
def test_bad_options_are_named(checkpoint: str, options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    given = options if options[:1] != ("--half",) else ("--checkpoint", checkpoint, "--dataset", "sample", *options)
    refused = recipe_here(tmp_path, *given, name="hcrnn_figures")
    assert refused.returncode != 0
    assert message in refused.stderr
