from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.word_vectors.model import build_model_from_vectors, extract_word_vectors
from ctxzoo.word_vectors.vectors import WordVectors

WORDS = ["the", "Mill", "0000", ","]
VECTORS = WordVectors.from_tensor(WORDS, torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), "drawn")


def test_vectors_become_a_checkpoint_and_come_back(tmp_path: Path) -> None:
    model, tokenizer = build_model_from_vectors(VECTORS, window=3, fold_digits=True)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded, text = AutoModelForMaskedLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (loaded.config.architecture, loaded.config.window, loaded.config.vocab_size) == ("cbow", 3, 6)
    assert not loaded.output_vectors.any()
    assert text("the Mill 1984 [MASK]")["input_ids"] == [2, 3, 4, 1]
    for part in (loaded, loaded.base_model):
        found = extract_word_vectors(part, text)
        assert found.words == WORDS
        assert torch.equal(found.vectors, VECTORS.vectors)
        assert (found.name, found.fingerprint) == ("cbow.3d", VECTORS.fingerprint)
    assert extract_word_vectors(loaded, text, name="mine").name == "mine"


def test_exported_vectors_are_a_copy_in_single_precision() -> None:
    model, tokenizer = build_model_from_vectors(VECTORS)
    found = extract_word_vectors(model.to(torch.bfloat16), tokenizer)
    with torch.no_grad():
        model.get_input_embeddings().weight.zero_()
    assert found.vectors.dtype == torch.float32
    torch.testing.assert_close(found.vectors, VECTORS.vectors, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("options", [{"mask_token": True}, {}])
def test_tokenizer_of_another_model_is_refused(options: dict[str, Any]) -> None:
    config = WordEmbeddingConfig(vocab_size=6, num_special_tokens=1 if options else 2, word_dim=3)
    model = WordEmbeddingForMaskedLM(config)
    words = WORDS if options else [*WORDS, "town"]
    tokenizer = build_word_tokenizer(words, lower_case=False, **options)
    with pytest.raises(ValueError, match=r"6 ids with the special ids \[.*of which the first . are special"):
        extract_word_vectors(model, tokenizer)


def test_word_that_no_text_can_give_is_named() -> None:
    with pytest.raises(ValueError, match="no text can give the word 'Mill'"):
        build_model_from_vectors(VECTORS, lower_case=True)
