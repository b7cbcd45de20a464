"""Scores of a saved classifier: the same for every batch size, those of its predictions, its own labels only."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.prediction import classify_texts
from ctxzoo.tasks.text_classification.task import evaluate, evaluate_ensemble
from tests.support.toy_classifier import registered_toy, toy_data, write_toy


@pytest.fixture(autouse=True, scope="module")
def _toy() -> Iterator[None]:
    with registered_toy():
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return toy_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def checkpoint(_toy: None, data: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_toy(tmp_path_factory.mktemp("toy") / "tiny", data))


def score(checkpoint: str, dataset: str, split: str = "test", **options: Any) -> dict[str, float]:
    return evaluate(checkpoint, dataset, split, accelerator="cpu", progress=False, **options)


def test_batch_size_does_not_matter(checkpoint: str, data: Any) -> None:
    one, many = (score(checkpoint, data.dataset, batch_size=size) for size in (1, 64))
    assert one == pytest.approx(many, rel=1e-4)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_accuracy_is_that_of_the_predictions(checkpoint: str, data: Any, split: str) -> None:
    texts = [data.texts(split)[row]["text"] for row in data.rows(split).tolist()]
    labels = [data.label_names[label] for label in data.labels(split).tolist()]
    predictions = classify_texts(*load_saved_model(checkpoint), texts, batch_size=4)
    right = [prediction["label"] == label for prediction, label in zip(predictions, labels, strict=True)]
    assert score(checkpoint, data.dataset, split)["accuracy"] == pytest.approx(100 * sum(right) / len(right))


def test_options_of_the_data_are_passed_on(checkpoint: str, data: Any) -> None:
    folds = [score(checkpoint, data.dataset, folds=2, fold=fold)["nll"] for fold in (0, 1)]
    assert folds[0] != folds[1]
    with pytest.raises(TypeError, match="fods"):
        score(checkpoint, data.dataset, fods=2)


def test_scores_of_several_are_those_of_their_mean_probabilities(data: Any, checkpoint: str, tmp_path: Path) -> None:
    other = str(write_toy(tmp_path / "other", data, seed=1))
    texts = [data.texts("test")[row]["text"] for row in data.rows("test").tolist()]
    labels = [data.label_names[label] for label in data.labels("test").tolist()]
    found = [CARD.load_pipeline(one)(texts, top_k=None) for one in (checkpoint, other)]
    means = [
        {
            name: sum(one["score"] for scores in both for one in scores if one["label"] == name) / 2
            for name in data.label_names
        }
        for both in zip(*found, strict=True)
    ]
    right = [max(mean, key=lambda name: mean[name]) == label for mean, label in zip(means, labels, strict=True)]
    nll = -sum(math.log(mean[label]) for mean, label in zip(means, labels, strict=True)) / len(labels)
    options: Any = {"accelerator": "cpu", "progress": False, "batch_size": 4}
    scores = evaluate_ensemble([checkpoint, other], data.dataset, ("validation", "test"), **options)
    assert scores["test"]["accuracy"] == pytest.approx(100 * sum(right) / len(right))
    assert scores["test"]["nll"] == pytest.approx(nll, rel=1e-4)
    assert scores["test"]["nll"] != pytest.approx(score(checkpoint, data.dataset)["nll"], rel=1e-4)
    alone = evaluate_ensemble([checkpoint], data.dataset, ("validation",), **options)["validation"]
    assert alone == pytest.approx(score(checkpoint, data.dataset, "validation"), rel=1e-4)
    with pytest.raises(ValueError, match="checkpoints is empty"):
        evaluate_ensemble([], data.dataset)


def written(folder: Path, name: str, rows: list[tuple[str, str]]) -> str:
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(folder / name)


def test_labels_are_met_by_their_names(checkpoint: str, tmp_path: Path) -> None:
    """Whichever labels a file has, and however it numbers them, a text is scored against its own."""
    rows = [("w1 w2", "good"), ("w2", "bad"), ("w3", "good"), ("w4 w1", "bad"), ("w5", "bad")]
    whole = score(checkpoint, written(tmp_path, "a.csv", rows), "train")
    parts = [
        score(checkpoint, written(tmp_path, f"{kind}.csv", [row for row in rows if row[1] == kind]), "train")
        for kind in ("good", "bad")
    ]
    for name in ("accuracy", "nll"):
        assert whole[name] == pytest.approx((2 * parts[0][name] + 3 * parts[1][name]) / 5)
    kinds = datasets.ClassLabel(names=["good", "bad"])
    features = datasets.Features({"text": datasets.Value("string"), "label": kinds})
    numbered = {"text": [text for text, _ in rows], "label": [["good", "bad"].index(kind) for _, kind in rows]}
    datasets.Dataset.from_dict(numbered, features).to_parquet(str(tmp_path / "train.parquet"))
    assert score(checkpoint, str(tmp_path / "train.parquet"), "train") == whole


def test_texts_of_the_scored_split_with_two_labels_are_counted(checkpoint: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", [("w1", "good"), ("W1 ", "bad"), ("w2", "good"), ("w2", "good")])
    with collect_reading_notes() as notes:
        score(checkpoint, path, "train")
    told = "texts stand there again with another label, each read as it is; correct those that are slips"
    assert notes.noted == {(path, told): 2}


def test_labels_that_the_model_does_not_have_are_refused_or_left_out(checkpoint: str, tmp_path: Path) -> None:
    rows = [("w1", "good"), ("w2", "yes"), ("w3", "bad"), ("w4", "no"), ("w5", "yes")]
    path = written(tmp_path, "a.csv", rows)
    told = (
        r"row 1: label 'yes', which the model does not have; 3 of 5 rows have such labels, 'yes' \(2\), 'no' \(1\); it "
    )
    with pytest.raises(ValueError, match=told + "has bad, fair, good"):
        score(checkpoint, path, "train")
    with collect_reading_notes(skip_bad=True) as notes:
        scores = score(checkpoint, path, "train")
    assert notes.counts() == {LEFT_OUT: 3}
    assert scores == score(checkpoint, written(tmp_path, "b.csv", [rows[0], rows[2]]), "train")
    with collect_reading_notes(skip_bad=True), pytest.raises(ValueError, match="no row has a label of the model"):
        score(checkpoint, written(tmp_path, "c.csv", rows[1:2]), "train")


def test_split_that_is_not_there(checkpoint: str, data: Any) -> None:
    with pytest.raises(ValueError, match="'dev'"):
        score(checkpoint, data.dataset, "dev")


def test_text_of_unknown_words_alone_is_given_a_label(checkpoint: str) -> None:
    alone, *_ = predictions = classify_texts(*load_saved_model(checkpoint), ["zz yy", "w1 w2 w3", "w1"], batch_size=3)
    assert len(predictions) == 3
    assert 0 < alone["score"] <= 1
