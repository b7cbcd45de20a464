"""Linear baselines: naive-Bayes weights against a computation by hand, what each can tell, and what a run leaves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.text_classification import linear
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear import (
    C_VALUES,
    COSTS,
    DOCUMENT_BASELINES,
    FASTTEXT,
    LINEAR_BASELINES,
    MAJORITY_CLASS,
    TUNED_DOCUMENT,
    TUNED_LINEAR,
    TUNED_VECTOR_BASELINE,
    LinearRun,
    NaiveBayesWeighted,
    WordVectorFeatures,
    build_linear_baseline,
    build_linear_experiment,
    count_weights,
    get_chosen_cost,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from ctxzoo.tasks.text_classification.sample import sample_texts
from tests.tasks.text_classification.test_data import write

BASELINES = (*LINEAR_BASELINES, *DOCUMENT_BASELINES)
TEXTS = ["good good film", "a good one", "bad film", "a bad bad one", "good !", "bad !"]
LABELS = np.array([1, 1, 0, 0, 1, 0])


def test_ratios_are_those_of_the_paper() -> None:
    counts = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]])
    model = NaiveBayesWeighted().fit(sparse.csr_matrix(counts), np.array([1, 1, 0, 0]))
    p, q = np.array([3.0, 2.0, 2.0]), np.array([1.0, 3.0, 2.0])  # smoothed by one
    np.testing.assert_allclose(model.ratios_[0], np.log((p / 7) / (q / 6)))


def test_weights_are_those_of_the_svm_times_the_ratios() -> None:
    counts, labels = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]), np.array([1, 1, 0, 0])
    model = NaiveBayesWeighted(C=0.5).fit(sparse.csr_matrix(counts), labels)
    svm = LinearSVC(C=0.5, random_state=0).fit(sparse.csr_matrix(counts * model.ratios_[0]), labels)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(counts)), svm.decision_function(counts * model.ratios_[0])
    )


def test_another_classifier_can_be_weighted() -> None:
    counts, labels = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]), np.array([1, 1, 0, 0])
    logistic = LogisticRegression(C=0.7, solver="liblinear")
    model = NaiveBayesWeighted(classifier=logistic).fit(sparse.csr_matrix(counts), labels)
    alone = LogisticRegression(C=0.7, solver="liblinear").fit(counts * model.ratios_[0], labels)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(counts)), alone.decision_function(counts * model.ratios_[0])
    )
    assert not hasattr(logistic, "coef_")


@pytest.mark.parametrize("name", DOCUMENT_BASELINES)
def test_words_are_cut_as_the_pre_tokenizer_does(name: str) -> None:
    text = "It's GOOD.<br />Isn't"
    words = {
        pre_tokenizer: set(build_linear_baseline(name, pre_tokenizer)[:1].fit([text])[0].get_feature_names_out())
        for pre_tokenizer in ("whitespace", "english")
    }
    assert words["whitespace"] == {"it's", "it's good.<br", "good.<br", "good.<br />isn't", "/>isn't"}
    one = ["it", "'s", "good", ".", "is", "n't"]
    assert words["english"] == {*one, *(f"{first} {second}" for first, second in pairwise(one))}


@pytest.mark.parametrize("name", BASELINES)
def test_it_learns_from_words(name: str) -> None:
    model = build_linear_baseline(name).fit(TEXTS * 5, np.tile(LABELS, 5))
    assert (model.predict(TEXTS) == LABELS).all()
    assert list(model.predict(["good", "bad bad"])) == [1, 0]


@pytest.mark.parametrize("name", BASELINES)
def test_more_than_two_classes(name: str) -> None:
    texts, labels = [*TEXTS, "dull film", "a dull one"], np.array([*LABELS, 2, 2])
    model = build_linear_baseline(name).fit(texts * 5, np.tile(labels, 5))
    assert (model.predict(texts) == labels).all()


def test_pairs_of_words_and_signs_are_features() -> None:
    texts, labels = ["not good", "good not", "not bad", "bad not"] * 5, np.array([0, 1, 1, 0] * 5)
    assert (build_linear_baseline("bigram_nbsvm").fit(texts, labels).predict(texts) == labels).all()
    signs, of_signs = ["! ?", "? !"] * 5, np.array([0, 1] * 5)
    assert (build_linear_baseline("words_characters_svm").fit(signs, of_signs).predict(signs) == of_signs).all()


def test_the_majority_class_reads_nothing() -> None:
    model = build_linear_baseline(MAJORITY_CLASS).fit(["a", "b", "c"], np.array([2, 5, 5]))
    assert list(model.predict(["a", "never seen"])) == [5, 5]


def test_number_of_weights() -> None:
    texts, features = ["a b", "b c"], 5  # a, b, c, and the pairs a b, b c
    two, three = np.array([0, 1] * 3), np.array([0, 1, 2] * 2)
    found = {
        name: [count_weights(build_linear_baseline(name).fit(texts * 3, labels)) for labels in (two, three)]
        for name in ("bigram_nbsvm", "bigram_naive_bayes", MAJORITY_CLASS)
    }
    assert found == {
        "bigram_nbsvm": [features + 1, 3 * (features + 1)],
        "bigram_naive_bayes": [2 * (features + 1), 3 * (features + 1)],
        MAJORITY_CLASS: [0, 0],
    }
    model = build_linear_baseline("words_characters_svm").fit(texts * 3, two)
    assert count_weights(model) == len(model[0].get_feature_names_out()) + 1


def test_an_unknown_name() -> None:
    known = r"known: .*, bigram_nbsvm, words_characters_vectors_svm, words_svm, bigram_nblr, .*, majority_class"
    with pytest.raises(ValueError, match=rf"'svm'; {known}"):
        build_linear_baseline("svm")


@pytest.mark.parametrize("name", [*TUNED_LINEAR, *TUNED_DOCUMENT])
def test_the_cost_is_that_of_the_best_accuracy_within_the_texts_fitted(name: str) -> None:
    plain = name.removesuffix("_tuned")
    rows = sample_texts()["train"].shuffle(seed=1).select(range(120))
    texts, labels = rows["text"][:], np.array(rows["label"][:])
    labels[:40] = 1 - labels[:40]  # so that costs differ
    fitted = build_linear_baseline(name).fit(texts, labels)
    *features, (_, classifier) = build_linear_baseline(plain).steps
    inputs = Pipeline(features).fit_transform(texts)
    accuracies = [
        cross_val_score(classifier.set_params(**{COSTS[plain]: cost}), inputs, labels, cv=3).mean() for cost in C_VALUES
    ]
    best = C_VALUES[int(np.argmax(accuracies))]
    assert len(set(accuracies)) > 1
    assert get_chosen_cost(fitted) == best
    alone = build_linear_baseline(plain)
    alone[-1].set_params(**{COSTS[plain]: best})
    others = sample_texts()["test"]["text"][:]
    assert (fitted.predict(others) == alone.fit(texts, labels).predict(others)).all()
    assert count_weights(fitted) == count_weights(alone)


def test_baselines_without_a_choice_have_chosen_nothing() -> None:
    assert get_chosen_cost(build_linear_baseline("bigram_nbsvm").fit(TEXTS, LABELS)) is None
    with pytest.raises(ValueError, match="unknown linear baseline 'bigram_naive_bayes_tuned'"):
        build_linear_baseline("bigram_naive_bayes_tuned")


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


def recorder(name: str, pre_tokenizer: str) -> Pipeline:
    return make_pipeline(Recorder())


def make_run(folder: Path, **changes: Any) -> LinearRun:
    settings = {"folds": 5, "fold": 1, "seed": 3} | changes
    tells = settings.pop("tell_time", False)
    variant = settings.pop("variant", MAJORITY_CLASS)
    places = {"results_dir": str(folder), "output_dir": str(folder / "runs")}
    usual = build_linear_experiment("sentence_linear").copy_with(commit="0123abc", **places)
    return LinearRun(TEXT_CLASSIFICATION, LinearRun.build_experiment(usual.copy_with(**settings), variant), tells)


def test_it_is_fitted_on_all_that_the_fold_does_not_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
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
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
    run = make_run(tmp_path, score="validation")
    result = execute(run)
    data = TextClassificationDataModule.from_options("sample", folds=5, fold=1, fold_seed=3)
    data.setup()
    texts = {split: data.texts(split).select(data.rows(split))["text"][:] for split in ("train", "validation")}
    assert {"scored": texts["validation"], "fitted": texts["train"]} == SEEN
    assert set(result.metrics) == {"validation/accuracy", "validation/macro_f1"}
    assert (result.split, result.settings["trained_on"]) == ("validation", "train")
    assert run.results_file.name == "majority_class-sample-validation-seed3-fold1.json"


def test_the_results_file_tells_what_decides_the_result(tmp_path: Path) -> None:
    run = make_run(tmp_path, variant="bigram_nbsvm")
    result = execute(run)
    assert run.results_file == tmp_path / "sentence_linear" / "bigram_nbsvm-sample-test-seed3-fold1.json"
    found = read_result(run.results_file)
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
    told = [make_run(tmp_path, variant=name).settings["pipeline"] for name in MODELS]
    told.append(make_run(tmp_path, variant="words_svm", pre_tokenizer="english").settings["pipeline"])
    assert len(set(told)) == len(told)
    assert not any("..." in text for text in told)  # scikit-learn shortens what is long


def test_few_rows_are_fitted_where_that_is_asked_and_the_time_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LinearRun, "tiny_rows", 60)
    result = execute(make_run(tmp_path, variant="words_svm_tuned", tiny=True, tell_time=True))
    assert result.settings["most_rows"] == 60
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("linear model beside it, fitted to 60 texts: ")
    assert line.endswith(" for 16 fits, judged by the first 5")
    assert "'scoring'" not in result.settings["pipeline"]
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
    execute(make_run(tmp_path, tiny=True))
    assert len(SEEN["fitted"]) == 60


def test_a_finished_run_is_kept_if_its_settings_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    first = execute(run)
    assert execute(run, resume=True) == read_result(run.results_file)
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
    assert execute(run, resume=True).parameters["trainable"] == 7 != first.parameters["trainable"]


def test_other_seeds_have_other_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
    scored = []
    for seed in (0, 1):
        execute(make_run(tmp_path, seed=seed))
        scored.append(set(SEEN["scored"]))
    assert scored[0] != scored[1]


def test_settings_of_finished_runs_stay_the_same(tmp_path: Path) -> None:
    """`--resume` knows a run by them: results/sentence_linear holds the first three, the others are the usual ones."""
    words = "ngram_range=(1, 2), token_pattern='(?u)\\\\S+'"
    run = make_run(tmp_path, variant="bigram_nbsvm")
    usual = {"min_words": 0, "train_rows": None, "pre_tokenizer": "whitespace", "dev_share": 0.1, "dev_block": 1}
    usual |= {"text_column": None, "label_column": None, "label_separator": None, "label_columns": None}
    usual |= {"class_weights": None}
    assert run.defaults == {"folds": None, **usual}
    assert run.settings == {
        **usual,
        "folds": 5,
        "trained_on": "train and validation",
        "pipeline": f"Pipeline(steps=[('countvectorizer', CountVectorizer(binary=True, {words})), "
        "('naivebayesweighted', NaiveBayesWeighted(C=0.1))])",
    }


@pytest.mark.parametrize("validation", ["held out", "its own", "none"])
def test_own_splits_are_fitted_on_train_and_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: None, validation: str
) -> None:
    monkeypatch.setattr(linear, "build_linear_baseline", recorder)
    texts = {split: [f"{split} text {number}" for number in range(40)] for split in ("train", "validation", "test")}
    texts["train"].append("short")
    if validation != "its own":
        del texts["validation"]
    for split, of_split in texts.items():
        write(tmp_path / "d", split, of_split)
    options: dict[str, Any] = {"min_words": 3, "pre_tokenizer": "english"}
    told = dict(options)
    if validation == "none":
        options["dev_share"] = 0.0
    run = make_run(tmp_path, dataset=str(tmp_path / "d"), folds=None, fold=None, **options)
    result = execute(run)
    assert SEEN["fitted"] == [*texts["train"][:-1], *texts.get("validation", [])]
    assert SEEN["scored"] == texts["test"]
    assert run.results_file == tmp_path / "sentence_linear" / "majority_class-d-test-seed3.json"
    assert read_result(run.results_file).fold is None
    assert result.settings == {
        **run.defaults,
        "trained_on": "train and validation",
        "pipeline": run.settings["pipeline"],
        **told,
    }


def test_a_fold_needs_folds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folds=5 and fold=None; give both, or none"):
        make_run(tmp_path, fold=None)


@pytest.mark.parametrize("name", [*BASELINES, *TUNED_LINEAR, *TUNED_DOCUMENT, *FASTTEXT, TUNED_VECTOR_BASELINE])
def test_results_of_all_processes_name_a_pipeline_alike(name: str) -> None:
    assert " at 0x" not in repr(build_linear_baseline(name, "english"))  # the address of a function


def test_vectors_stand_beside_tfidf_with_a_tenth_of_their_deviation() -> None:
    model = build_linear_baseline(TUNED_VECTOR_BASELINE, "english")[0].fit(TEXTS)
    features = model.transform(TEXTS).toarray()[:, -200:]
    plain = WordVectorFeatures("english").fit(TEXTS).transform(TEXTS)
    varying = plain.std(axis=0) > 1e-9
    assert varying.sum() > 150
    expected = (plain - plain.mean(axis=0))[:, varying] / plain.std(axis=0)[varying] / 10
    np.testing.assert_allclose(features[:, varying], expected, atol=1e-6)
