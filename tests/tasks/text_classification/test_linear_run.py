"""A linear baseline on one fold: what it is fitted on, what it leaves, and when it is fitted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline

from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.text_classification import linear_run
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear_baselines import (
    C_VALUES,
    DOCUMENT_BASELINES,
    LINEAR_BASELINES,
    MAJORITY_CLASS,
    TUNED_DOCUMENT,
    TUNED_LINEAR,
)
from ctxzoo.tasks.text_classification.linear_run import LinearRun
from tests.tasks.text_classification.test_data import write

MODELS = (*LINEAR_BASELINES, *DOCUMENT_BASELINES, *TUNED_LINEAR, *TUNED_DOCUMENT, MAJORITY_CLASS)
SEEN: dict[str, list[str]] = {}


class Recorder(ClassifierMixin, BaseEstimator):
    """Says 1 to every text, and remembers the texts."""

    def fit(self, texts: list[str], labels: list[int]) -> Recorder:
        assert len(texts) == len(labels)
        SEEN["fitted"] = list(texts)
        self.classes_ = np.unique(labels)
        self.coef_ = np.ones((1, 7))
        return self

    def predict(self, texts: list[str]) -> Any:
        SEEN["scored"] = list(texts)
        return np.ones(len(texts), int)


def recorder(name: str, cutter: str) -> Pipeline:
    return make_pipeline(Recorder())


def make_run(folder: Path, **changes: Any) -> LinearRun:
    settings = {"variant": MAJORITY_CLASS, "dataset": "sample", "folds": 5, "fold": 1, "seed": 3} | changes
    return LinearRun(recipe="sentence_linear", commit="0123abc", results_dir=str(folder), **settings)


def test_it_is_fitted_on_all_that_the_fold_does_not_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_run, "linear_baseline", recorder)
    result = execute(make_run(tmp_path))
    data = TextClassificationDataModule.from_options("sample", folds=5, fold=1, fold_seed=3)
    data.setup()
    texts = {split: data.texts(split).select(data.rows(split))["text"][:] for split in ("train", "validation", "test")}
    assert SEEN["scored"] == texts["test"]
    assert sorted(SEEN["fitted"]) == sorted([*texts["train"], *texts["validation"]])
    assert result.metrics == {"test/accuracy": 50.0, "test/macro_f1": pytest.approx(100 / 3, rel=1e-5)}
    assert result.parameters == {"trainable": 7, "total": 7}


def test_where_settings_are_chosen_validation_is_scored_and_test_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_run, "linear_baseline", recorder)
    run = make_run(tmp_path, score="validation")
    result = execute(run)
    data = TextClassificationDataModule.from_options("sample", folds=5, fold=1, fold_seed=3)
    data.setup()
    texts = {split: data.texts(split).select(data.rows(split))["text"][:] for split in ("train", "validation")}
    assert {"scored": texts["validation"], "fitted": texts["train"]} == SEEN
    assert set(result.metrics) == {"validation/accuracy", "validation/macro_f1"}
    assert (result.split, result.settings["trained_on"]) == ("validation", "train")
    assert run.spec.results_file.name == "majority_class-sample-validation-seed3-fold1.json"


def test_the_results_file_tells_what_decides_the_result(tmp_path: Path) -> None:
    run = make_run(tmp_path, variant="bigram_nbsvm")
    result = execute(run)
    assert run.spec.results_file == tmp_path / "sentence_linear" / "bigram_nbsvm-sample-test-seed3-fold1.json"
    found = read_result(run.spec.results_file)
    assert (found.architecture, found.variant, found.dataset) == ("linear", "bigram_nbsvm", "sample")
    assert (found.seed, found.fold) == (3, 1)
    assert found.settings["folds"] == 5
    assert found.settings["trained_on"] == "train and validation"
    assert found.settings["pipeline"].endswith("NaiveBayesWeighted(C=0.1))])")
    assert found.metrics["test/accuracy"] == pytest.approx(result.metrics["test/accuracy"], rel=1e-5)


def test_the_cost_that_a_tuned_baseline_chose_is_told(tmp_path: Path) -> None:
    result = execute(make_run(tmp_path, variant="words_svm_tuned"))
    assert result.metrics["chosen_C"] in C_VALUES
    assert "C': [0.0625, 0.25, 1.0, 4.0, 16.0]" in result.settings["pipeline"]
    assert "chosen_C" not in execute(make_run(tmp_path, variant="words_svm")).metrics


def test_settings_hold_the_whole_pipeline(tmp_path: Path) -> None:
    told = [make_run(tmp_path, variant=name).spec.settings["pipeline"] for name in MODELS]
    told.append(make_run(tmp_path, variant="words_svm", data={"cutter": "english"}).spec.settings["pipeline"])
    assert len(set(told)) == len(told)
    assert not any("..." in text for text in told)  # scikit-learn shortens what is long


def test_a_finished_run_is_kept_if_its_settings_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    first = execute(run)
    assert execute(run, resume=True) == read_result(run.spec.results_file)
    monkeypatch.setattr(linear_run, "linear_baseline", recorder)
    assert execute(run, resume=True).parameters["trainable"] == 7 != first.parameters["trainable"]


def test_other_seeds_have_other_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_run, "linear_baseline", recorder)
    scored = []
    for seed in (0, 1):
        execute(make_run(tmp_path, seed=seed))
        scored.append(set(SEEN["scored"]))
    assert scored[0] != scored[1]


def test_settings_of_finished_runs_stay_the_same(tmp_path: Path) -> None:
    """`--resume` knows a run by them: this is what results/sentence_linear holds."""
    words = "ngram_range=(1, 2), token_pattern='(?u)\\\\S+'"
    assert make_run(tmp_path, variant="bigram_nbsvm").spec.settings == {
        "folds": 5,
        "trained_on": "train and validation",
        "pipeline": f"Pipeline(steps=[('countvectorizer', CountVectorizer(binary=True, {words})), "
        "('naivebayesweighted', NaiveBayesWeighted(C=0.1))])",
    }


@pytest.mark.parametrize("validation", ["held out", "its own", "none"])
def test_own_splits_are_fitted_on_train_and_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validation: str
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr(linear_run, "linear_baseline", recorder)
    texts = {split: [f"{split} text {number}" for number in range(40)] for split in ("train", "validation", "test")}
    texts["train"].append("short")
    if validation != "its own":
        del texts["validation"]
    for split, of_split in texts.items():
        write(tmp_path / "d", split, of_split)
    options: dict[str, Any] = {"min_words": 3, "cutter": "english"}
    if validation == "none":
        options["dev_share"] = 0.0
    run = make_run(tmp_path, dataset=str(tmp_path / "d"), folds=None, fold=None, data=options)
    result = execute(run)
    assert SEEN["fitted"] == [*texts["train"][:-1], *texts.get("validation", [])]
    assert SEEN["scored"] == texts["test"]
    assert run.spec.results_file == tmp_path / "sentence_linear" / "majority_class-d-test-seed3.json"
    assert read_result(run.spec.results_file).fold is None
    assert result.settings == {
        "trained_on": "train and validation",
        "pipeline": run.spec.settings["pipeline"],
        **options,
    }


def test_a_fold_needs_folds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folds=5 and fold=None; give both, or none"):
        make_run(tmp_path, fold=None)
