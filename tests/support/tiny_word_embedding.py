"""Tiny word embeddings with their tokenizer and checkpoint folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from tests.support.tiny_checkpoint import tiny_result

TEXT = "The unknown [MASK] stands in town since 1710."
WORDS = ["the", "mill", "stands", "in", "town", "0000", "."]


def tiny_tokenizer() -> WordTokenizer:
    return build_word_tokenizer(WORDS, mask_token=True, fold_digits=True, pre_tokenizer="english")


def tiny_model() -> WordEmbeddingForMaskedLM:
    """Weights larger than a fresh model's, so that it has opinions."""
    torch.manual_seed(1)
    config = WordEmbeddingConfig(vocab_size=len(WORDS) + 2, word_dim=4, window=2)
    model = WordEmbeddingForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model


def embedding_result(**changes: Any) -> RunResult:
    of_words = {"architecture": "word_embedding", "variant": "attention_cbow", "recipe": "texts_word_embedding"}
    settings = {"epochs": 3, "tiny": False}
    result = replace(tiny_result(), **of_words, dataset="someone/texts", settings=settings)
    return replace(result, **{"metrics": {"test/perplexity": 88.25, "test/nll": 4.48}, **changes})


def tiny_example() -> dict[str, Any]:
    return {"text": TEXT, **FILL_MASK.predict(tiny_model(), tiny_tokenizer(), {"text": TEXT})}


def write_tiny(folder: Path) -> Path:
    model, result = tiny_model(), embedding_result()
    card = build_card(result, model.config, task=FILL_MASK, example=tiny_example())
    return write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tiny_tokenizer(),
        card=card,
        eval_results=build_eval_results_files(result, FILL_MASK),
    )
