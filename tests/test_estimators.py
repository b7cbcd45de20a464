"""The estimators of scikit-learn: its own checks, its tools around them, and checkpoints that other commands open."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer, StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.validation import validate_data

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.estimators import CtxzooClassifier, CtxzooRegressor
from ctxzoo.tasks.regression.reader import sample_rows
from ctxzoo.tasks.text_classification.sample import sample_texts
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT

SMALL: dict[str, Any] = {"epochs": 15, "hidden_size": 16, "num_heads": 2, "inner_size": 16, "num_features": 8}
SMALL_CLASSIFIER: dict[str, Any] = {
    **{
        "epochs": 1,
        "word_dim": 8,
        "num_filters": 8,
        "min_word_count": 1,
        "ngram_buckets": 64,
        "char_ngram_buckets": 64,
    },
    **{"word_vectors": "null", "vector_words": 0},
}
# Checks of scikit-learn that the regressor does not pass, and why.
NOT_PASSED = {
    "check_methods_subset_invariance": "rows that are predicted together read each other, as in the paper",
    "check_methods_sample_order_invariance": "sums in float32 differ by 2e-7 in another order, and 1e-7 is allowed",
}


def regressor(**options: Any) -> CtxzooRegressor:
    return CtxzooRegressor(**{**SMALL, "learning_rate": 0.02, **options})


def classifier(**options: Any) -> CtxzooClassifier:
    return CtxzooClassifier(**{"tiny": True, "epochs": 1, **options})


def small_texts() -> tuple[list[str], list[str]]:
    rows = sample_texts(train=60)["train"]
    return rows["text"][:], [f"label {one}" for one in rows["label"][:]]


def small_rows() -> tuple[pd.DataFrame, pd.Series]:
    rows = sample_rows()["train"].to_pandas()
    return rows.drop(columns="level"), rows["level"]


@pytest.fixture(scope="module")
def fitted() -> CtxzooClassifier:
    return classifier().fit(*small_texts())


@pytest.fixture(scope="module")
def fitted_rows() -> CtxzooRegressor:
    return regressor().fit(*small_rows())


def all_checks(estimator: Any) -> list[Any]:
    return list(estimator_checks.estimator_checks_generator(estimator))


@pytest.mark.slow
@pytest.mark.parametrize("check", all_checks(regressor()), ids=lambda pair: estimator_checks._check_name(pair[1]))
def test_the_regressor_passes_the_checks_of_scikit_learn(check: Any) -> None:
    estimator, run = check
    name = estimator_checks._check_name(run)
    if name in NOT_PASSED:
        with pytest.raises(AssertionError, match="is not invariant"):
            run(estimator)
    else:
        run(estimator)
    assert len(NOT_PASSED) <= 3


class OfNumbers(CtxzooClassifier):
    """The classifier on numbers that are written as words, for checks that know no texts."""

    def _words(self, X: Any) -> list[str]:
        return [" ".join(f"f{place}is{round(value)}" for place, value in enumerate(row)) for row in X]

    def fit(self, X: Any, y: Any) -> Any:
        X, y = validate_data(self, X, y, multi_output=np.asarray(y).ndim == 2)
        return super().fit(self._words(X), y)

    def predict_proba(self, X: Any) -> Any:
        estimator_checks.check_is_fitted(self)
        return super().predict_proba(self._words(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = False, True
        return tags


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*too few to hold some out")
@pytest.mark.parametrize(
    "check",
    all_checks(OfNumbers(**SMALL_CLASSIFIER)),
    ids=lambda pair: estimator_checks._check_name(pair[1]),
)
def test_the_classifier_passes_the_checks_of_scikit_learn_on_numbers_as_words(check: Any) -> None:
    estimator, run = check
    run(estimator)


def test_parameters_are_the_options_of_ctxzoo_train() -> None:
    for estimator, problem in ((CtxzooClassifier(), "text-classification"), (CtxzooRegressor(), "regression")):
        parameters = estimator.get_params()
        assert set(parameters) - set(estimator.options) == {"validation_fraction", "random_state", "verbose"}
        assert all(parameters[name] is None for name in estimator.options)
        assert {"epochs", "learning_rate", "architecture", "variant", "batch_size", "init_from"} <= set(parameters)
        assert not {"text_column", "target_column", "output_dir", "world_size", "dataset"} & set(parameters)
        assert estimator.problem.name == problem
    assert repr(CtxzooClassifier(epochs=3)) == "CtxzooClassifier(epochs=3)"
    assert clone(CtxzooClassifier(kernel_sizes=(2, 3))).kernel_sizes == (2, 3)
    assert CtxzooClassifier().set_params(epochs=5).epochs == 5


def test_options_arrive_in_the_model(fitted_rows: CtxzooRegressor) -> None:
    assert fitted_rows.model_.config.hidden_size == 16
    assert fitted_rows.metrics_["epochs"] == 15
    model = classifier(kernel_sizes=(2,), num_filters=3, max_length="null", architecture="text_baseline").fit(
        *small_texts()
    )
    assert (model.model_.config.kernel_sizes, model.model_.config.num_filters) == ([2], 3)
    assert model.tokenizer_.word_limit is None


def test_a_classifier_says_what_predict_says_of_what_it_saves(
    fitted: CtxzooClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts, labels = small_texts()
    assert fitted.classes_.tolist() == sorted(set(labels))
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (len(texts), len(fitted.classes_))
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert (fitted.predict(texts) == fitted.classes_[probabilities.argmax(axis=1)]).all()
    assert fitted.score(texts, labels) == np.mean(fitted.predict(texts) == labels)
    folder = fitted.save(tmp_path / "saved")
    Path("rows.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    assert main(["predict", str(folder), "--file", "rows.jsonl", "--output", "out.jsonl"]) == 0
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [list(line["probabilities"].values()) for line in lines] == [
        pytest.approx(row, abs=1e-6) for row in probabilities.tolist()
    ]
    assert ctxzoo.pipeline(folder)(texts[0])[0]["label"] == fitted.predict(texts[:1])[0]
    assert "CtxzooClassifier" in (folder / "README.md").read_text()
    opened = CtxzooClassifier.from_checkpoint(folder)
    assert np.array_equal(opened.predict_proba(texts), probabilities)
    assert opened.save(tmp_path / "again").is_dir()


def test_a_regressor_says_what_predict_says_of_what_it_saves(
    fitted_rows: CtxzooRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, _ = small_rows()
    found = fitted_rows.predict(rows)
    folder = fitted_rows.save("saved")
    rows.to_csv("rows.csv", index=False)
    assert main(["predict", str(folder), "--file", "rows.csv", "--output", "out.csv"]) == 0
    assert pd.read_csv("out.csv")["predicted_level"].tolist() == pytest.approx(found.tolist(), rel=1e-4)
    opened = CtxzooRegressor.from_checkpoint(folder)
    assert opened.feature_names_in_.tolist() == ["day", "height", "noise"]
    assert np.array_equal(opened.predict(rows), found)
    with pytest.raises(ValueError, match="does regression; expected a checkpoint of text-classification"):
        CtxzooClassifier.from_checkpoint(folder)


def test_what_is_pickled_predicts_the_same(
    fitted: CtxzooClassifier, fitted_rows: CtxzooRegressor, tmp_path: Path
) -> None:
    texts, (rows, _) = small_texts()[0], small_rows()
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(texts), fitted.predict_proba(texts))
    joblib.dump(fitted_rows, tmp_path / "model.joblib")
    assert np.array_equal(joblib.load(tmp_path / "model.joblib").predict(rows), fitted_rows.predict(rows))


def test_nothing_is_printed_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    regressor(epochs=1).fit(*small_rows())
    assert capfd.readouterr() == ("", "")
    assert [str(one.message) for one in recwarn] == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()


def test_the_seed_decides() -> None:
    rows, target = small_rows()
    found = [regressor(epochs=2, random_state=seed).fit(rows, target).predict(rows) for seed in (1, 1, 2)]
    assert np.array_equal(found[0], found[1])
    assert not np.allclose(found[0], found[2])
    drawn = np.random.RandomState(5)
    assert regressor(epochs=1, random_state=drawn).fit(rows, target).score(rows, target) < 1


def test_a_grid_search_over_a_pipeline() -> None:
    texts, labels = small_texts()
    strip = FunctionTransformer(lambda part: [one.strip() for one in part])
    whole = make_pipeline(strip, classifier())
    search = GridSearchCV(whole, {"ctxzooclassifier__num_filters": np.array([2, 3])}, cv=2).fit(texts, labels)
    assert search.best_params_["ctxzooclassifier__num_filters"] in (2, 3)
    assert search.predict(texts[:2]).shape == (2,)
    rows, target = small_rows()
    assert len(cross_val_score(make_pipeline(StandardScaler(), regressor(epochs=1)), rows, target, cv=2)) == 2


def test_labels_of_any_type() -> None:
    texts, labels = small_texts()
    numbers = np.array([7 if label == labels[0] else 3 for label in labels])
    model = classifier().fit(pd.Series(texts), numbers)
    assert model.classes_.tolist() == [3, 7]
    assert model.predict(texts).dtype == numbers.dtype
    assert model.model_.config.id2label == {0: "3", 1: "7"}


def test_several_labels_as_lists_and_as_0_and_1() -> None:
    texts, labels = small_texts()
    lists = [[label, "all"] if row % 5 else [] for row, label in enumerate(labels)]
    options = {"epochs": 2, "learning_rate": 0.01, "word_vectors": "null", "vector_words": 0}
    fitted = classifier(**options).fit(texts, lists)
    assert fitted.classes_.tolist() == ["all", "label 0", "label 1"]
    marks = MultiLabelBinarizer().fit_transform(lists)
    other = classifier(**options).fit(texts, pd.DataFrame(marks, columns=fitted.classes_))
    np.testing.assert_array_equal(other.classes_, fitted.classes_)
    np.testing.assert_array_equal(other.predict(texts), fitted.predict(texts))
    assert fitted.predict(texts).shape == (len(texts), 3)
    assert fitted.score(texts, lists) == fitted.score(texts, marks) == (fitted.predict(texts) == marks).all(1).mean()


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([[1.0, 2.0]], [0], TypeError, r"X\[0\] is \[1.0, 2.0\]; expected a text"),
        (
            np.ones((4, 2)),
            [0, 1, 0, 1],
            TypeError,
            r"ndarray of the shape \(4, 2\); expected a list of texts",
        ),
        (pd.DataFrame({"a": ["x"]}), [0], TypeError, r"DataFrame of the shape \(1, 1\)"),
        ("a text", [0], TypeError, "X is one text, 'a text'; expected a list of texts"),
        (["good", None], [0, 1], TypeError, r"X\[1\] is None; expected a text: fill it in"),
        (["good", " "], [0, 1], ValueError, r"X\[1\] is ' '; expected a text to learn from"),
        (["good", "bad"], [1, 1], ValueError, "y has one class, '1'; expected two or more"),
        (["good", "bad"], [1], ValueError, "X has 2 texts and y 1 labels"),
        ([], [], ValueError, "X has no text"),
    ],
)
def test_what_is_no_training_of_texts(X: Any, y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        classifier().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate=-1.0: expected more than 0"),
        ({"architecture": "bert"}, "unknown --architecture 'bert'"),
        ({"variant": "cnn5"}, "unknown --variant 'cnn5'"),
        ({"epochs": "many"}, "epochs=many: expected a whole number"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0: expected more than 0, and less than 1"),
        ({"random_state": "a"}, "'a' cannot be used to seed"),
    ],
)
def test_values_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(*small_texts())
    with pytest.raises(TypeError, match="CtxzooClassifier has no option 'epoch'; it has settings"):
        CtxzooClassifier(epoch=1)


def test_few_rows_and_unknown_words() -> None:
    with pytest.warns(UserWarning, match="CtxzooClassifier: 4 rows are too few to hold some out"):
        model = classifier().fit(["good film", "bad film", "good one", "bad one"], [1, 0, 1, 0])
    assert model.predict(["good", "", "unheard of"]).shape == (3,)
    with pytest.raises(NotFittedError):
        CtxzooClassifier().predict(["a text"])
    with pytest.raises(NotFittedError):
        CtxzooRegressor().save("nowhere")


@pytest.mark.slow
def test_the_estimators_learn() -> None:
    train, test = (sample_texts()[split] for split in ("train", "test"))
    model = CtxzooClassifier().fit(train["text"][:], train["label"][:])
    assert model.score(test["text"][:], test["label"][:]) > 0.8
    rows, target = small_rows()
    assert CtxzooRegressor(epochs=300).fit(rows[:100], target[:100]).score(rows[100:], target[100:]) > 0.5


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    run_examples(REPOSITORY_ROOT / "docs" / "estimators.md", tmp_path)
