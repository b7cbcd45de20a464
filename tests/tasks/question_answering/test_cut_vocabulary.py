"""A reader with fewer words in half precision: the same answers where its words are, through the usual doors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from ctxzoo.cli.renew import write_published_folder
from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder, has_half_precision_weights, write_checkpoint_folder
from ctxzoo.hub.published import Entry
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.tokenization_word_char import WordCharTokenizer
from ctxzoo.results.result import write_result
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING
from ctxzoo.tasks.question_answering.cut_vocabulary import cut_vocabulary
from tests.support.doors import offline, open_all
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, WORDS, ask, tiny_model, tiny_result, tiny_tokenizer

KEPT = 10
QUESTION_OF_KEPT, CONTEXT_OF_KEPT = "Since?", "The mill stands in Oda, since 1710."


def small() -> tuple[BidafForQuestionAnswering, WordCharTokenizer]:
    return cut_vocabulary(tiny_model(), tiny_tokenizer(), KEPT)


def logits(model: BidafForQuestionAnswering, tokenizer: WordCharTokenizer, question: str, context: str) -> torch.Tensor:
    with torch.no_grad():
        outputs = model(**tokenizer(question, context, return_tensors="pt"))
    return torch.cat([outputs.start_logits, outputs.end_logits])


def write_half(folder: Path) -> Path:
    model, tokenizer = small()
    card = build_card(tiny_result(), model.config, task=QUESTION_ANSWERING, example=ask(model, tokenizer))
    return write_checkpoint_folder(folder, model=model, tokenizer=tokenizer, card=card, half=True)


def test_texts_of_kept_words_are_read_as_before() -> None:
    model, tokenizer = small()
    assert model.config.vocab_size == len(tokenizer) == 2 + KEPT
    whole = logits(tiny_model(), tiny_tokenizer(), QUESTION_OF_KEPT, CONTEXT_OF_KEPT)
    assert torch.equal(logits(model, tokenizer, QUESTION_OF_KEPT, CONTEXT_OF_KEPT), whole)
    assert not torch.allclose(
        logits(model, tokenizer, QUESTION, CONTEXT), logits(tiny_model(), tiny_tokenizer(), QUESTION, CONTEXT)
    )
    assert tiny_model().config.vocab_size == 2 + len(WORDS)


def test_a_word_that_is_left_out_is_unknown_and_keeps_its_characters() -> None:
    words, whole = "the mill was built since", tiny_tokenizer()
    _, tokenizer = small()
    found, before = tokenizer(words), whole(words)
    assert found["char_ids"] == before["char_ids"]
    known = [identity != 1 for identity in found["input_ids"]]
    assert known == [True, True, False, False, True]
    assert all(identity != 1 for identity in before["input_ids"])


def test_frozen_vectors_stay_frozen_and_learned_ones_learned() -> None:
    for learned in (True, False):
        model = tiny_model(train_word_embeddings=learned)
        cut, _ = cut_vocabulary(model, tiny_tokenizer(), 2)
        assert cut.get_input_embeddings().weight.requires_grad is learned
        assert torch.equal(cut.get_input_embeddings().weight, model.get_input_embeddings().weight[:4])


def test_half_precision_is_only_how_the_file_has_them(tmp_path: Path) -> None:
    model, tokenizer = small()
    folder = write_half(tmp_path / "small")
    check_checkpoint_folder(folder)
    assert {value.dtype for value in load_file(folder / "model.safetensors").values()} == {torch.float16}
    loaded = AutoModelForQuestionAnswering.from_pretrained(folder)
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32"
    found = logits(loaded, AutoTokenizer.from_pretrained(folder), QUESTION_OF_KEPT, CONTEXT_OF_KEPT)
    expected = logits(model, tokenizer, QUESTION_OF_KEPT, CONTEXT_OF_KEPT)
    torch.testing.assert_close(found, expected, rtol=5e-3, atol=5e-3)
    assert not torch.equal(found, expected)
    assert ask(loaded, AutoTokenizer.from_pretrained(folder))["answer"] == ask(model, tokenizer)["answer"]


@pytest.mark.slow
def test_it_opens_in_three_ways(tmp_path: Path) -> None:
    found = open_all(str(write_half(tmp_path / "small")), offline())
    assert found["remote"]["logits"] == found["package"]["logits"]
    assert found["pipeline"]["answer"]["answer"] == ask(*small())["answer"]
    assert [found[door]["ctxzoo"] for door in ("package", "remote", "pipeline")] == [True, False, False]


def test_a_folder_in_half_precision_is_published_in_it(tmp_path: Path) -> None:
    folder = write_half(tmp_path / "small")
    weights = (folder / "model.safetensors").read_bytes()
    assert has_half_precision_weights(folder)
    write_published_folder(
        folder, folder, Entry(result=write_result(tiny_result(dataset="ctxzoo-data/squad_v1_mini"), tmp_path))
    )
    assert (folder / "model.safetensors").read_bytes() == weights


def test_more_words_than_there_are_cannot_be_kept() -> None:
    with pytest.raises(ValueError, match="keep_words=16: the checkpoint has 15 words"):
        cut_vocabulary(tiny_model(), tiny_tokenizer(), len(WORDS) + 1)
