"""The card, the evaluation results and the checkpoint folder of a classifier: its own task throughout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from ctxzoo.hub.card import Surroundings, build_card, make_card_example
from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.card_parts import set_repo_id
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.models import ARCHITECTURES
from ctxzoo.tasks import get_card_of_head
from ctxzoo.tasks.text_classification.card import CARD as TEXT_CLASSIFICATION
from ctxzoo.training.classification import CALIBRATION_BINS
from tests.hub.test_card import SECTIONS, python_blocks, sections
from tests.support.toy_classifier import (
    LABELS,
    TEXT,
    registered_toy,
    toy_data,
    toy_model,
    toy_result,
    write_toy,
)

EXAMPLE = {"text": TEXT, "label": "good", "score": 0.62534}


@pytest.fixture(autouse=True, scope="module")
def _toy() -> Iterator[None]:
    with registered_toy():
        yield


@pytest.fixture(scope="module")
def checkpoint(_toy: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy") / "toy-tiny")


def card(**changes: Any) -> str:
    around = Surroundings(other_runs=changes.pop("other_runs", ()))
    result = toy_result(**changes)
    return build_card(result, toy_model().config, task=TEXT_CLASSIFICATION, example=EXAMPLE, surroundings=around)


def test_metadata_is_what_the_hub_reads() -> None:
    data = ModelCard(card(), ignore_metadata_errors=False).data
    assert (data.pipeline_tag, data.library_name) == ("text-classification", "transformers")
    assert data.metrics == ["accuracy", "f1"]
    assert data.datasets == ["someone/reviews"]
    found = {(entry.metric_type, entry.metric_name): entry.metric_value for entry in data.eval_results}
    assert found == {("accuracy", "accuracy"): 71.25, ("f1", "macro F1"): 62.5}  # errors and losses are no scores
    assert {entry.task_type for entry in data.eval_results} == {"text-classification"}


def test_sections_speak_of_labels_and_not_of_questions() -> None:
    text = card(settings={"epochs": 3, "tiny": True})
    found = sections(text)
    assert list(found) == SECTIONS
    assert all(len(part.split()) > 5 for name, part in found.items() if name != "Citation")
    body = ModelCard(text).text
    assert not re.search(r"question|answer|squad|context", body, flags=re.IGNORECASE)
    assert "None" not in body
    assert "| labels | `bad`, `fair`, `good` |" in body
    assert "Its labels mean nothing" in found["Limits"]
    assert "one of its 3 labels" in found["Limits"]
    assert "differ by 8.12 points on average" in found["Limits"]
    assert "| accuracy | 71.25 | 73.00 |" in found["Results"]
    assert "| macro F1 | 62.50 | – |" in found["Results"]
    assert f"| expected calibration error, {CALIBRATION_BINS} bins | 8.12 | – |" in found["Results"]
    assert 'pipeline("text-classification", model=repo, trust_remote_code=True)' in found["Use it"]
    assert "# [{'label': 'good', 'score': 0.6253}]" in found["Use it"]


def test_generated_data_is_that_of_the_task() -> None:
    found = sections(card(dataset="sample"))
    assert "short reviews of invented things" in found["Training data and licence"]
    assert not re.search(r"question|answer", found["Training data and licence"] + found["Results"])


def test_folds_are_named_and_their_mean_is_given() -> None:
    others = [toy_result(fold=fold, metrics={"test/accuracy": 71.25 + fold}) for fold in (1, 2)]
    text = card(fold=0, other_runs=others)
    found = sections(text)
    assert "| accuracy | 71.25 | 73.00 | 72.25 ± 1.00 |" in found["Results"]
    assert "test, this checkpoint (seed 1, fold 0)" in found["Results"]
    assert "Runs: seed 1, fold 0; seed 1, fold 1; seed 1, fold 2." in found["Results"]
    assert "Seed 1, fold 0, commit" in found["Reproduce"]
    assert "One seed and one fold" in sections(card(fold=3))["Limits"]
    with pytest.raises(ValueError, match="two runs with seed 1 and fold 0"):
        card(fold=0, other_runs=[toy_result(fold=0)])


def test_example_must_be_whole() -> None:
    with pytest.raises(ValueError, match="lacks label, score; it needs text, label, score"):
        build_card(toy_result(), toy_model().config, task=TEXT_CLASSIFICATION, example={"text": "a"})


def test_folder_holds_the_scores_and_the_names_of_the_labels(checkpoint: Path) -> None:
    check_checkpoint_folder(checkpoint)
    (entry, second) = yaml.safe_load((checkpoint / ".eval_results" / "someone--reviews.yaml").read_text())
    assert (entry["dataset"]["task_id"], entry["value"]) == ("test_accuracy", 71.25)
    assert (second["dataset"]["task_id"], second["value"]) == ("test_macro_f1", 62.5)
    assert entry["notes"].startswith("accuracy; split test, seed 1; python recipes/")
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["id2label"] == {str(place): name for place, name in enumerate(LABELS)}
    assert config["label2id"] == {name: place for place, name in enumerate(LABELS)}


def test_programs_of_the_card_give_what_the_pipeline_gives(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = set_repo_id((checkpoint / "README.md").read_text(), str(checkpoint))
    example, with_package, without_package, as_pipeline = python_blocks(readme)
    expected = pipeline(
        "text-classification",
        model=AutoModelForSequenceClassification.from_pretrained(checkpoint),
        tokenizer=AutoTokenizer.from_pretrained(checkpoint),
    )(TEXT)
    names: dict[str, Any] = {}
    exec(example, names)
    assert (names["text"], names["repo"]) == (TEXT, str(checkpoint))
    exec(with_package, names)
    assert capsys.readouterr().out.splitlines()[-1] == expected[0]["label"]
    # The toy is of the tests and not of the package: its code is taken from here in place of the folder.
    local = without_package.replace('{"trust_remote_code": True, "revision": "main"}', "{}")
    assert local != without_package
    exec(local, names)
    assert capsys.readouterr().out.startswith("tensor([[")
    exec(as_pipeline.replace(", trust_remote_code=True", ""), names)
    assert capsys.readouterr().out.splitlines()[-1] == repr(expected)


def test_base_model_has_no_task() -> None:
    with pytest.raises(ValueError, match=r"a ToyModel does no task .* question-answering, text-classification"):
        get_card_of_head(ARCHITECTURES["toy"].model_classes["AutoModel"])


def test_a_card_holds_no_text_of_a_known_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = toy_data(tmp_path)
    data.prepare_data()
    data.setup()
    asked = {"model": toy_model(), "tokenizer": data.tokenizer}
    example = make_card_example(TEXT_CLASSIFICATION, "someone/reviews", **asked, data=data)
    assert example["text"] == data.texts("test")[int(data.rows("test")[0])]["text"]
    assert example["gold"] in LABELS
    assert "gold" in "\n".join(TEXT_CLASSIFICATION.format_example(example))
    chosen = make_card_example(TEXT_CLASSIFICATION, "someone/reviews", **asked, data=data, split="validation")
    assert chosen["text"] == data.texts("validation")[int(data.rows("validation")[0])]["text"]
    with pytest.raises(ValueError, match="no example for 'someone/reviews'; add one"):
        make_card_example(TEXT_CLASSIFICATION, "someone/reviews", **asked)

    ours = replace(DATASET_FACTS["SetFit/CR"], example={"text": f"{TEXT} !"})
    monkeypatch.setitem(DATASET_FACTS, "someone/reviews", ours)
    example = make_card_example(TEXT_CLASSIFICATION, "someone/reviews", **asked, data=data)
    assert example["text"] == f"{TEXT} !"
    assert set(example) == {"text", "label", "score"}
    assert "gold" not in "\n".join(TEXT_CLASSIFICATION.format_example(example))
