"""A model in memory is scored as its checkpoint is, and stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from ctxzoo.tasks import question_answering, text_classification, token_classification
from tests.support.squad_files import write_squad_file
from tests.support.tiny_checkpoint import tiny_model, tiny_tokenizer, write_tiny
from tests.support.tiny_tagger import tiny_tagger
from tests.support.toy_classifier import registered_toy, toy_data, write_toy

QUICK: dict[str, Any] = {"accelerator": "cpu", "progress": False}


@pytest.fixture(autouse=True, scope="module")
def _toy() -> Iterator[None]:
    with registered_toy():
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return toy_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def classifier(_toy: None, data: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy") / "tiny", data)


def test_a_classifier(classifier: Path, data: Any) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(str(classifier))
    tokenizer = AutoTokenizer.from_pretrained(str(classifier))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    found = text_classification.evaluate(model, data.dataset, tokenizer=tokenizer, **QUICK)
    assert found == pytest.approx(text_classification.evaluate(classifier, data.dataset, **QUICK))
    assert not model.training
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(parameter.requires_grad for parameter in model.parameters())
    model.train()
    assert text_classification.evaluate(model, data.dataset, tokenizer=tokenizer, **QUICK) == found
    assert model.training


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_model_stays_on_its_device(classifier: Path, data: Any) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(str(classifier)).cuda()
    tokenizer = AutoTokenizer.from_pretrained(str(classifier))
    text_classification.evaluate(model, data.dataset, tokenizer=tokenizer, progress=False)
    assert {parameter.device.type for parameter in model.parameters()} == {"cuda"}


def test_a_tagger() -> None:
    data = token_classification.TokenClassificationDataModule("sample")
    data.setup()
    model = tiny_tagger(tags=data.label_names, vocab_size=data.tokenizer.num_ids)
    found = token_classification.evaluate(model, "sample", tokenizer=data.tokenizer, **QUICK)
    assert 0 < found["accuracy"] < 100
    with pytest.raises(ValueError, match="a BilstmTaggerForTokenClassification was given without its tokenizer"):
        token_classification.evaluate(model, "sample", **QUICK)


def test_a_reader(tmp_path: Path) -> None:
    file = str(write_squad_file(tmp_path / "test.json", 6))
    options = {**QUICK, "cache_dir": str(tmp_path / "cache")}
    folder = write_tiny(tmp_path / "reader")
    found = question_answering.evaluate(tiny_model(), file, tokenizer=tiny_tokenizer(), **options)
    assert found == pytest.approx(question_answering.evaluate(folder, file, **options), rel=1e-4, abs=1e-4)


def test_checkpoints_of_other_problems_are_refused_with_what_they_do(classifier: Path) -> None:
    said = (
        r"is of the architecture 'toy', which has no AutoModelForQuestionAnswering; it does text-classification; take"
    )
    with pytest.raises(ValueError, match=said):
        question_answering.evaluate(classifier, "sample", **QUICK)
    with pytest.raises(ValueError, match=r"a BidafForQuestionAnswering is of .* no AutoModelForSequenceClassification"):
        text_classification.evaluate(tiny_model(), "sample", tokenizer=tiny_tokenizer(), **QUICK)
    with pytest.raises(FileNotFoundError, match="there is no checkpoint '/nowhere/at/all'"):
        text_classification.evaluate("/nowhere/at/all", "sample", **QUICK)
