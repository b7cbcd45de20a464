"""The recipe of the linear bars, in a process of its own, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

SMALL = ("--datasets", "sample", "--folds", "2", "--processes", "1", "--progress", "false")
MODELS = ("bigram_naive_bayes", "majority_class")


def scores(folder: Path) -> dict[tuple[str, int, int | None], dict[str, float]]:
    return {(one.variant, one.seed, one.fold): one.metrics for one in read_results(folder)}


@pytest.mark.slow
def test_every_fold_leaves_results_and_resume_keeps_them(tmp_path: Path) -> None:
    run = recipe(tmp_path, *SMALL, "--models", *MODELS, "--results_dir", "here", name="sentence_linear")
    assert run.returncode == 0, run.stdout + run.stderr
    before = scores(tmp_path / "here")
    assert set(before) == {(model, 0, fold) for model in MODELS for fold in (0, 1)}
    assert before["majority_class", 0, 1]["test/accuracy"] == 50.0
    assert before["bigram_naive_bayes", 0, 1]["test/accuracy"] > 80.0

    kept, gone = (tmp_path / "here" / "sentence_linear" / f"{model}-sample-test-seed0-fold1.json" for model in MODELS)
    written = kept.stat().st_mtime_ns
    gone.unlink()
    run = recipe(tmp_path, *SMALL, "--models", *MODELS, "--results_dir", "here", "--resume", name="sentence_linear")
    assert run.returncode == 0, run.stdout + run.stderr
    assert kept.stat().st_mtime_ns == written
    assert scores(tmp_path / "here") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--models", "svm"), "models='svm': expected one of words_characters_svm"),
        (("--folds", "1"), "folds=1: expected 2 or more"),
        (("--seeds", "0", "0"), "would both write"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, *SMALL, *arguments, name="sentence_linear")
    assert run.returncode != 0
    assert message in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()
