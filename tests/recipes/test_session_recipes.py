"""The recipes of session recommendation, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

HCRNN, BASELINES, FLOORS = "citeulike_hcrnn", "session_baselines", "session_floors"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "models"),
    [(HCRNN, ["hcrnn1", "hcrnn2", "hcrnn3", "hcrnn3_bi"]), (BASELINES, ["gru4rec", "narm", "stamp"])],
)
def test_all_models_are_trained_and_resume_keeps_them(tmp_path: Path, name: str, models: list[str]) -> None:
    options = (*TINY, "--processes", "1")
    run = recipe(tmp_path, *options, name=name)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert sorted(one.variant for one in results) == models
    assert all("test/mrr_at_20" in one.metrics for one in results)
    assert all(f"sample, {model}" in run.stdout for model in models)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *options, "--resume", name=name)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


def test_floors(tmp_path: Path) -> None:
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name=FLOORS)
    assert run.returncode == 0, run.stderr
    scores = {one.variant: one.metrics["test/recall_at_20"] for one in read_results(tmp_path / "results")}
    assert sorted(scores, key=lambda name: scores[name]) == ["pop", "session_pop", "item_knn", "markov"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (HCRNN, ("--models", "narm"), "unknown variant 'narm' of hcrnn; known: hcrnn1, hcrnn2, hcrnn3, hcrnn3_bi"),
        (HCRNN, ("--num_topics", "0"), "num_topics=0: expected 1 or more"),
        (HCRNN, ("--embedding_size", "0"), "embedding_size=0: expected 1 or more"),
        (HCRNN, ("--pooled_dropout", "1"), "pooled_dropout=1.0: expected 0 or more, and less than 1"),
        (
            BASELINES,
            ("--models", "hcrnn1"),
            "unknown variant 'hcrnn1' of session_baseline; known: gru4rec, narm",
        ),
        (BASELINES, ("--max_length", "0"), "max_length=0: expected 1 or more"),
        (FLOORS, ("--models", "majority"), "models='majority': expected one of pop, session_pop, item_knn, markov"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, name: str, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=name)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
