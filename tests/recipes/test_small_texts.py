from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_process import recipe

pytestmark = pytest.mark.slow


def test_every_model_is_scored_on_the_same_rows(tmp_path: Path) -> None:
    quick = ("--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")
    run = recipe(tmp_path, "--datasets", "sample", "--train_rows", "40", "--seeds", "0", *quick, name="small_texts")
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert {result.variant for result in results} == {
        *("default", "no_vectors", "words_characters_svm_tuned", "words_characters_vectors_svm_tuned")
    }
    assert {result.settings["train_rows"] for result in results} == {40}
    assert all("test/accuracy" in result.metrics for result in results)
