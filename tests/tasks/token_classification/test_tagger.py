"""A tagger's card and checkpoint folder: its own task throughout, and three ways into it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard

from ctxzoo.hub.card import make_card_example
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.tasks.token_classification.card import CARD as TOKEN_CLASSIFICATION
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from tests.hub.test_card import SECTIONS, python_blocks, sections
from tests.support.doors import told_offline
from tests.support.tiny_tagger import TAGS, TEXT, tiny_tagger, tiny_tokenizer, write_tagger

TEXTS = [TEXT, "unheard-of", "the lamp"]

MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForTokenClassification, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
model = AutoModelForTokenClassification.from_pretrained({source!r}, **options)
with torch.no_grad():
    logits = model(**tokenizer({texts!r}, padding=True, return_tensors="pt")).logits
print(json.dumps({{"module": type(model).__module__, "result": logits.tolist(), "ctxzoo": "ctxzoo" in sys.modules}}))
"""
PIPELINE = """
import json, sys
from transformers import pipeline
tagger = pipeline("token-classification", model={source!r}, trust_remote_code=True)
result = [[word["entity"] for word in words] for words in tagger({texts!r}, batch_size=2, ignore_labels=[])]
print(json.dumps({{"module": type(tagger.model).__module__, "result": result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tagger(tmp_path_factory.mktemp("tagger") / "tagger-tiny")


def open_with(program: str, source: Path, first: str = "", options: str = "") -> Any:
    text = program.format(first=first, options=options, source=str(source), texts=TEXTS)
    return told_offline(text, without_ctxzoo=not first)


@pytest.mark.slow
def test_it_opens_in_three_ways(tagger: Path, tmp_path: Path) -> None:
    with torch.no_grad():
        logits = tiny_tagger()(**tiny_tokenizer()(TEXTS, padding=True, return_tensors="pt")).logits
    package = open_with(MODEL, tagger, "import ctxzoo", "{}")
    remote = open_with(MODEL, tagger, options='{"trust_remote_code": True}')
    stock = open_with(PIPELINE, tagger)
    assert package["module"] == "ctxzoo.models.modeling_bilstm_tagger"
    torch.testing.assert_close(torch.tensor(package["result"]), logits)
    assert remote["result"] == package["result"]
    best = [[TAGS[tag] for tag in row] for row in logits.argmax(dim=-1).tolist()]
    assert stock["result"] == [row[: len(text.split())] for row, text in zip(best, TEXTS, strict=True)]
    for door in (remote, stock):
        assert door["ctxzoo"] is False
        assert door["module"].startswith("transformers_modules.")


def test_the_folder_is_whole_and_its_card_speaks_of_tags(tagger: Path) -> None:
    check_checkpoint_folder(tagger)
    text = (tagger / "README.md").read_text(encoding="utf-8")
    card = ModelCard(text, ignore_metadata_errors=False)
    assert (card.data.pipeline_tag, card.data.metrics) == ("token-classification", ["accuracy", "f1"])
    assert {entry.metric_name: entry.metric_value for entry in card.data.eval_results} == {
        "accuracy": 71.25,
        "macro F1": 62.5,
    }
    found = sections(text)
    assert list(found) == SECTIONS
    assert not re.search(r"question|answer|None", card.text)
    assert "| tags | `DT`, `NN`, `O`, `VB` |" in card.text
    assert "one of its 4 tags" in found["Limits"]
    assert "cuts running text into words and signs by one rule" in found["Limits"]
    assert "- word vectors: `glove`, trained further;" in found["Training data and licence"]


def test_programs_of_the_card_print_what_it_says(tagger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = (tagger / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(tagger))
    example, with_package, _, as_pipeline = python_blocks(card)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["text"] == TEXT
    said = as_pipeline.splitlines()[-1].removeprefix("# ")
    exec(with_package, names)
    assert capsys.readouterr().out.splitlines()[-1] == said
    exec(as_pipeline.replace(", trust_remote_code=True", ""), names)
    assert capsys.readouterr().out.splitlines()[-1] == said
    assert len(said.split()) == len(TEXT.split())


def test_examples_are_ours_for_known_corpora_and_of_the_reported_split_for_others() -> None:
    data = TokenClassificationDataModule("sample")
    data.setup()
    asked: dict[str, Any] = {"model": tiny_tagger(), "tokenizer": tiny_tokenizer(), "data": data}
    example = make_card_example(TOKEN_CLASSIFICATION, "someone/tags", **asked)
    sentence = data.texts("test")[0]
    assert example["text"] == " ".join(sentence["tokens"])
    assert example["gold"].split() == [data.label_names[tag] for tag in sentence["labels"]]
    assert [line.split(":")[0] for line in TOKEN_CLASSIFICATION.format_example(example)] == ["text", "tags", "gold"]
    chosen = make_card_example(TOKEN_CLASSIFICATION, "someone/tags", **asked, split="validation")
    assert chosen["text"] == " ".join(data.texts("validation")[int(data.rows("validation")[0])]["tokens"])
    known = make_card_example(TOKEN_CLASSIFICATION, "ctxzoo-data/ptb_sample", **asked)
    assert set(known) == {"text", "tags"}
    assert known["text"] != example["text"]
