"""A class that is derived from one of ours is saved and loaded as itself, never as its parent with other weights."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification

from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_lama import LamaForSequenceClassification, LamaModel
from tests.models.cases_lama import SIZES
from tests.support.doors import offline
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.warm_python import run_warm

MODULE = """
import torch

from ctxzoo.models.modeling_lama import LamaForSequenceClassification


class LouderClassifier(LamaForSequenceClassification):
    def __init__(self, config):
        super().__init__(config)
        self.louder = torch.nn.Linear(config.num_labels, config.num_labels)
        self.post_init()

    def forward(self, *args, **options):
        output = super().forward(*args, **options)
        output.logits = self.louder(output.logits)
        return output
"""
INPUTS = {"input_ids": torch.tensor([[1, 2, 3]]), "attention_mask": torch.ones(1, 3, dtype=torch.int64)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "louder_classifier.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    try:
        from louder_classifier import LouderClassifier

        torch.manual_seed(0)
        model = LouderClassifier(LamaConfig(**SIZES)).eval()
        model.save_pretrained(folder / "checkpoint")
        yield folder / "checkpoint", model
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("louder_classifier", None)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model.eval()(**INPUTS).logits
    return found


def test_its_module_and_name_are_saved(saved: tuple[Path, Any]) -> None:
    folder, _ = saved
    assert (folder / "louder_classifier.py").read_text() == MODULE
    content = json.loads((folder / "config.json").read_text())
    assert content["architectures"] == ["LouderClassifier"]
    assert content["auto_map"]["AutoModelForSequenceClassification"] == "louder_classifier.LouderClassifier"


@pytest.mark.parametrize("of", ["own", "parent", "auto", "auto with its code"])
def test_every_way_of_loading_gives_the_class(saved: tuple[Path, Any], of: str) -> None:
    folder, model = saved
    options = {"trust_remote_code": True} if "code" in of else {}
    loaders = {"own": type(model), "parent": LamaForSequenceClassification}
    found = loaders.get(of, AutoModelForSequenceClassification).from_pretrained(folder, **options)
    assert type(found) is type(model)
    assert torch.equal(logits(found), logits(model))


def test_the_base_model_of_its_weights_is_that_of_ours(saved: tuple[Path, Any]) -> None:
    folder, model = saved
    found = AutoModel.from_pretrained(folder)
    assert type(found) is LamaModel
    for name, value in found.state_dict().items():
        assert torch.equal(value, model.base_model.state_dict()[name])


@pytest.mark.slow
def test_elsewhere_it_loads_by_its_code_or_not_at_all(saved: tuple[Path, Any]) -> None:
    """Without ctxzoo imported the code of the folder is run; with it, and without the module, it is refused."""
    folder, model = saved
    code = f"""
        import sys
        from transformers import AutoModelForSequenceClassification as Auto
        found = Auto.from_pretrained({str(folder)!r}, trust_remote_code=True)
        print(type(found).__name__, float(found.louder.weight.detach().sum()))
        import ctxzoo
        for name in [name for name in sys.modules if "louder_classifier" in name]:
            del sys.modules[name]
    """
    name, total = run_warm(code, env=offline()).stdout.split()[-2:]
    assert name == "LouderClassifier"
    assert float(total) == pytest.approx(float(model.louder.weight.detach().sum()))
    refused = f"""
        import ctxzoo
        from transformers import AutoModelForSequenceClassification as Auto
        try:
            Auto.from_pretrained({str(folder)!r})
        except ValueError as error:
            print(error)
    """
    assert "was saved by LouderClassifier, a class of its own" in run_warm(refused, env=offline()).stdout


def test_a_class_without_a_module_has_no_auto_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Here(LamaForSequenceClassification):
        pass

    monkeypatch.setattr(Here, "__module__", "__main__")
    model = Here(LamaConfig(**SIZES)).eval()
    with caplog.at_level(logging.WARNING):
        model.save_pretrained(tmp_path)
    assert "Here is a class of its own without a module that can be saved" in caplog.text
    assert list(json.loads((tmp_path / "config.json").read_text())["auto_map"]) == ["AutoConfig"]
    assert not (tmp_path / "modeling_lama.py").exists()
    found = LamaForSequenceClassification.from_pretrained(tmp_path)
    assert type(found) is Here
    assert torch.equal(logits(found), logits(model))


def test_ours_are_saved_as_before(tmp_path: Path) -> None:
    LamaForSequenceClassification(LamaConfig(**SIZES)).save_pretrained(tmp_path)
    assert (tmp_path / "modeling_lama.py").is_file()
    auto_map = json.loads((tmp_path / "config.json").read_text())["auto_map"]
    assert auto_map["AutoModelForSequenceClassification"] == "modeling_lama.LamaForSequenceClassification"


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    run_examples(REPOSITORY_ROOT / "docs" / "change_a_model.md", tmp_path)
    assert (tmp_path / "gated" / "gated_classifier.py").is_file()
    auto_map = json.loads((tmp_path / "gated" / "config.json").read_text())["auto_map"]
    assert auto_map["AutoModelForSequenceClassification"] == "gated_classifier.GatedClassifier"
