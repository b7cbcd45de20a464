"""The recipe of documents' linear baselines, in a process of its own, on the generated sample."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

QUICK = ("--dataset", "sample", "--progress", "false", "--processes", "1")


def test_all_bars_on_the_datasets_own_splits(tmp_path: Path) -> None:
    run = recipe(tmp_path, *QUICK, name="document_linear")
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert sorted(results) == ["bigram_nblr", "bigram_nblr_tuned", "words_svm", "words_svm_tuned"]
    assert all(one.fold is None and one.settings["trained_on"] == "train and validation" for one in results.values())
    # Words in pairs tell what single words do not.
    assert all(one.metrics["test/accuracy"] > 75 for one in results.values())


def test_an_unknown_model_stops_it(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *QUICK, "--models", "svm", name="document_linear")
    assert run.returncode == 1
    assert "error: models='svm': expected one of words_svm, bigram_nblr" in run.stderr
