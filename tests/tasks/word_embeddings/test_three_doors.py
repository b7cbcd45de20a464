"""Word embeddings in a checkpoint folder: whole, with a card whose programs run, open in three ways, two without us."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import FillMaskPipeline

from ctxzoo.hub.card import build_card, make_card_example
from ctxzoo.hub.card_parts import set_repo_id
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from tests.hub.test_card import SECTIONS, python_blocks, sections
from tests.support.doors import told_offline
from tests.support.tiny_word_embedding import (
    TEXT,
    embedding_result,
    tiny_example,
    tiny_model,
    tiny_tokenizer,
    write_tiny,
)

TEXTS = [TEXT, "the [MASK]"]

MODEL = """
import json, sys, torch
{first}
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
inputs = tokenizer({texts!r}, padding=True, return_tensors="pt")
model = AutoModelForMaskedLM.from_pretrained({source!r}, **options)
base = AutoModel.from_pretrained({source!r}, **options)
with torch.no_grad():
    result = [model(**inputs).logits[..., 2:].tolist(), base(**inputs).last_hidden_state.tolist()]
print(json.dumps({{"module": type(model).__module__, "result": result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""
PIPELINE = """
import json, sys
from transformers import pipeline
fill = pipeline("fill-mask", model={source!r}, trust_remote_code=True)
vectors = pipeline("feature-extraction", model={source!r}, trust_remote_code=True)
result = {{"result": fill({texts!r}, batch_size=2), "vectors": vectors("the mill")}}
print(json.dumps({{"module": type(fill.model).__module__, **result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("embedding") / "word-embedding-tiny")


def open_with(program: str, source: Path, first: str = "", options: str = "") -> Any:
    text = program.format(first=first, options=options, source=str(source), texts=TEXTS)
    return told_offline(text, without_ctxzoo=not first)


def scores_of(result: list[Any], tokenizer: Any) -> list[float]:
    """What the pipeline makes of what the model gives for TEXTS: the five greatest probabilities at each mask."""
    at_mask = tokenizer(TEXTS, padding=True, return_tensors="pt")["input_ids"] == tokenizer.mask_token_id
    return torch.tensor(result[0])[at_mask].softmax(dim=-1).topk(5).values.flatten().tolist()


def test_the_folder_is_whole(checkpoint: Path) -> None:
    check_checkpoint_folder(checkpoint)
    assert list((checkpoint / ".eval_results").iterdir())


@pytest.mark.slow
def test_it_opens_in_three_ways(checkpoint: Path, tmp_path: Path) -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[..., 2:]
        vectors = model.word_embedding(**inputs).last_hidden_state
    package = open_with(MODEL, checkpoint, "import ctxzoo", "{}")
    remote = open_with(MODEL, checkpoint, options='{"trust_remote_code": True}')
    pipeline = open_with(PIPELINE, checkpoint)
    assert package["module"] == "ctxzoo.models.modeling_word_embedding"
    for found, wanted in zip(package["result"], (logits, vectors), strict=True):
        torch.testing.assert_close(torch.tensor(found), wanted)
    assert remote["result"] == package["result"]
    here = FillMaskPipeline(model=model, tokenizer=tokenizer)(TEXTS)
    for found, wanted in zip(pipeline["result"], here, strict=True):
        assert [one["token_str"] for one in found] == [one["token_str"] for one in wanted]
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in wanted], rel=1e-5)
    assert torch.equal(torch.tensor(pipeline["vectors"][0]), model.get_input_embeddings().weight[[2, 3]])
    for door in (remote, pipeline):
        assert door["ctxzoo"] is False
        assert door["module"].startswith("transformers_modules.")


def test_card() -> None:
    text = build_card(embedding_result(), tiny_model().config, task=FILL_MASK, example=tiny_example())
    card = ModelCard(text, ignore_metadata_errors=False)
    assert (card.data.pipeline_tag, card.data.metrics) == ("fill-mask", ["perplexity", "loss"])
    assert [(entry.metric_type, entry.metric_value) for entry in card.data.eval_results] == [("perplexity", 88.25)]
    found = sections(text)
    assert list(found) == SECTIONS
    assert "Words outside its vocabulary are left out" in found["Limits"]
    assert "None" not in card.text


def test_programs_of_the_card_give_what_the_pipeline_gives(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = set_repo_id((checkpoint / "README.md").read_text(), str(checkpoint))
    example, with_package, without_package, as_pipeline = python_blocks(readme)
    expected = tiny_example()
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["text"] == TEXT
    exec(with_package, names)
    assert capsys.readouterr().out.splitlines()[-1] == expected["token_str"]
    local = without_package.replace('{"trust_remote_code": True, "revision": "main"}', "{}")
    assert local != without_package
    exec(local, names)
    assert capsys.readouterr().out.splitlines()[-1] == "torch.Size([1, 7, 4])"
    exec(as_pipeline.replace(", trust_remote_code=True", ""), names)
    printed = eval(capsys.readouterr().out.splitlines()[-1])[0]
    assert printed["sequence"] == expected["sequence"]
    assert printed["score"] == pytest.approx(expected["score"])
    assert f"'token_str': {expected['token_str']!r}" in as_pipeline


def test_without_an_example_of_ours_frequent_words_stand_around_the_mask() -> None:
    asked = {"model": tiny_model(), "tokenizer": tiny_tokenizer()}
    corpus = SimpleNamespace(words=["the", "mill", "of", "a", "by", "old", "rarely"])
    example = make_card_example(FILL_MASK, "someone/texts", **asked, data=corpus)
    assert example["text"] == "the mill of [MASK] a by old"
    with pytest.raises(ValueError, match="no example for 'someone/texts'; add one"):
        make_card_example(FILL_MASK, "someone/texts", **asked)
    lines = FILL_MASK.format_example(tiny_example())
    assert lines[0] == f"text: {TEXT}"
    assert tiny_example()["token_str"] in lines[1]
