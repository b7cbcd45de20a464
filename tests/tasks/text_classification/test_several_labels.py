"""Texts with several labels from file to answers: every door gives the same labels, by the threshold of the config."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.estimators import CtxzooClassifier
from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.results.result import read_result
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask, evaluate_labels

WORDS = {"/law": "court judge trial", "art": "film song stage", "sport": "match goal team"}
NAMES = list(WORDS)


def write_rows(file: Path, number: int = 90) -> list[tuple[str, list[str]]]:
    """Write texts with words of most of their labels as CSV, labels separated by semicolons; return them."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(number):
        told = [name for name in NAMES if random.random() < 0.4]
        words = [word for name in told for word in random.permutation(WORDS[name].split())[:2]]
        labels = [name for name in NAMES if (name in told) != (random.random() < 0.15)]  # some are wrong
        rows.append((" ".join([*random.permutation(["the", "a", "of", "new", *words])]), labels))
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerows([("text", "label"), *((text, ";".join(labels)) for text, labels in rows)])
    return rows


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, list[str]]], str]:
    """A folder with texts and a model of a few batches; the texts; and what the training printed."""
    folder = tmp_path_factory.mktemp("several")
    rows = write_rows(folder / "texts.csv")
    with pytest.MonkeyPatch.context() as patch, (folder / "output.txt").open("w") as output:
        patch.chdir(folder)
        patch.setattr("sys.stdout", output)
        options = ["--label_separator", ";", "--tiny", "--word_vectors", "null", "--vector_words", "0"]
        options += ["--epochs", "2", "--learning_rate", ".01", "--replace"]
        assert main(["train", "text-classification", "--data", "texts.csv", *options, "--objective", "macro_f1"]) == 0
    return folder, rows, (folder / "output.txt").read_text()


def checkpoint_of(folder: Path) -> Path:
    (found,) = folder.glob("runs/*/*/checkpoint")
    return found


def test_training_tells_what_was_read_and_chosen(trained: Any) -> None:
    folder, rows, printed = trained
    several = sum(len(labels) > 1 for _, labels in rows)
    assert f"texts.csv: {several} texts have several labels in column 'label', separated by ';'" in printed
    assert "labels are given from a probability of" in printed
    assert "chosen on validation by macro f1" in printed
    assert "one for each label" in printed
    assert "micro F1 and" in printed
    result = read_result(next(folder.glob("runs/results/train*/*-tiny.json")))
    table = result.labels["test"]
    assert table["names"] == NAMES
    assert table["threshold"] == json.loads((checkpoint_of(folder) / "config.json").read_text())["label_threshold"]
    f1 = [value for value, support in zip(table["f1"], table["support"], strict=True) if support]
    assert result.metrics["test/macro_f1"] == pytest.approx(np.mean(f1), abs=0.01)
    assert {name for name in result.metrics if name.startswith("test/")} >= {"test/micro_f1", "test/exact_match"}
    (file,) = folder.glob("runs/*/*/labels-test.csv")
    assert file.read_text().splitlines()[0] == "label,precision,recall,f1,support"
    card = (checkpoint_of(folder) / "README.md").read_text()
    assert "any number of labels for each text" in card
    assert "| label | precision | recall | F1 | texts |" in card
    assert "print(logits.sigmoid())" in card


def test_every_door_gives_the_same_labels(trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, rows, _ = trained
    checkpoint, texts = str(checkpoint_of(folder)), [text for text, _ in rows]
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        inputs = tokenizer(texts, padding=True, return_tensors="pt")
        probabilities = model(**inputs).logits.sigmoid().numpy()
    expected = [
        [NAMES[label] for label in np.flatnonzero(row >= model.config.label_threshold)] for row in probabilities
    ]
    assert len(set(map(tuple, expected))) > 1

    output = tmp_path / "answers.csv"
    arguments = ["--file", str(folder / "texts.csv"), "--output", str(output), "--unsure", "auto"]
    assert main(["predict", checkpoint, *arguments]) == 0
    answers = list(csv.DictReader(output.open()))
    assert [sorted(filter(None, one["predicted_labels"].split(";"))) for one in answers] == expected
    np.testing.assert_allclose([float(one["probability_art"]) for one in answers], probabilities[:, 1], atol=1e-5)
    unsure = [one["unsure"] == "true" for one in answers]
    below = [float(one["predicted_probability"]) < model.config.unsure_below for one in answers]
    assert unsure == below
    assert f"{sum(unsure)} of 90 texts have a probability below" in capsys.readouterr().err

    opened = ctxzoo.pipeline(checkpoint)
    assert [sorted(one["label"] for one in answer) for answer in opened(texts)] == expected
    assert sorted(one["label"] for one in opened(texts[0])) == expected[0]
    assert len(opened(texts[0], top_k=2)) == 2
    plain = pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None)
    assert {one["label"]: one["score"] for one in plain(texts[0])[0]}["art"] == pytest.approx(probabilities[0, 1])
    explained = ctxzoo.explain(checkpoint, texts[:3])
    assert [sorted(one.labels) for one in explained] == expected[:3]
    assert "any number of labels" in explained[0]._repr_html_()
    marks = CtxzooClassifier.from_checkpoint(checkpoint).predict(texts)
    assert [[NAMES[label] for label in np.flatnonzero(row)] for row in marks] == expected


def test_evaluation_reads_as_the_training_did(trained: Any, tmp_path: Path) -> None:
    folder, rows, _ = trained
    checkpoint, output = str(checkpoint_of(folder)), tmp_path / "scores.json"
    data = ["--dataset", str(folder / "texts.csv"), "--split", "train", "--output", str(output)]
    assert main(["evaluate", checkpoint, *data]) == 0
    content = json.loads(output.read_text())
    assert content["labels"]["support"] == [sum(name in labels for _, labels in rows) for name in NAMES]
    columns = tmp_path / "columns.csv"
    with columns.open("w", newline="") as opened:
        of_rows = ((text, *(int(name in labels) for name in NAMES)) for text, labels in rows)
        csv.writer(opened).writerows([("text", *NAMES), *of_rows])
    scores, _ = evaluate_labels(checkpoint, str(columns), "train", label_columns=NAMES, progress=False)
    assert scores == pytest.approx(content["metrics"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--objective", "accuracy"],
            "objective='accuracy': texts have any number of labels; expected one of micro_f1",
        ),
        (["--class_weights", "art:x"], "class_weights='art:x': expected balanced, or each label once"),
        (["--label_columns", "art"], "labels stand in columns of 0 and 1, or in one column: give either"),
    ],
)
def test_what_cannot_be_is_said_before_training(
    trained: Any, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(trained[0])
    words = ["train", "text-classification", "--data", "texts.csv", "--label_separator", ";", "--tiny", *options]
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_unsure_is_a_probability(trained: Any, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = str(checkpoint_of(trained[0]))
    for value in ("2", "often"):
        assert main(["predict", checkpoint, "--text", "the court", "--unsure", value]) == 2
        assert f"--unsure {value}: expected a probability from 0 to 1, or auto" in capsys.readouterr().err
    assert main(["predict", checkpoint, "--text", "the court", "--unsure", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["unsure"] is True


def test_a_head_of_the_other_kind_is_replaced(trained: Any) -> None:
    names, checkpoint = NAMES, str(checkpoint_of(trained[0]))
    kept = SequenceClassificationTask(pretrained=checkpoint, label_names=names, several_labels=True)
    assert kept.model.config.label_threshold is not None
    with pytest.warns(UserWarning, match="any number for a text; it is replaced by a new one"):
        task = SequenceClassificationTask(pretrained=checkpoint, label_names=names)
    assert (task.model.config.problem_type, task.model.config.label_threshold) == (None, None)


def test_only_heads_of_texts_take_several_labels() -> None:
    config = TextBaselineConfig(vocab_size=9, num_labels=3, problem_type="multi_label_classification")
    model = TextBaselineForSequenceClassification(config)
    output = model(torch.tensor([[1, 2]]), labels=torch.tensor([[1.0, 0.0, 1.0]]))
    expected = torch.nn.functional.binary_cross_entropy_with_logits(output.logits, torch.tensor([[1.0, 0.0, 1.0]]))
    assert output.loss.item() == pytest.approx(expected.item())
    with pytest.raises(Exception, match="a BilstmTaggerConfig takes 'single_label_classification'; set one"):
        BilstmTaggerConfig(problem_type="multi_label_classification")
    with pytest.raises(Exception, match="label_threshold must be from 0 to 1, or null; got 2"):
        TextBaselineConfig(label_threshold=2.0)
