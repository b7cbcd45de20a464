"""A tiny tagger with its tokenizer, a results file that fits it, and the checkpoint folder of the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.models.modeling_bilstm_tagger import BilstmTaggerForTokenClassification
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.token_classification.card import CARD as TOKEN_CLASSIFICATION
from ctxzoo.training.classification import label_fields
from tests.support.toy_classifier import toy_result

TAGS = ["DT", "NN", "O", "VB"]
WORDS = ["the", "old", "lamp", "can", "shine", ".", "00", "'s"]
TEXT = "The old lamp 's light can shine 17 hours ."


def tiny_tagger(seed: int = 6, tags: list[str] | None = None, vocab_size: int = len(WORDS) + 2) -> Any:
    torch.manual_seed(seed)
    sizes = {"word_dim": 6, "recurrent_size": 4, "projection_size": 5, "vocab_size": vocab_size}
    config = BilstmTaggerConfig(**sizes, embedding_bound=1.0, **label_fields(tags or TAGS))
    model = BilstmTaggerForTokenClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that it has opinions
    return model


def tiny_tokenizer() -> WordTokenizer:
    return build_word_tokenizer(WORDS, fold_digits=True, keep_unknown=True)


def tagger_result(**changes: Any) -> RunResult:
    return toy_result(
        **{
            "recipe": "pos_bilstm_tagger",
            "architecture": "bilstm_tagger",
            "variant": "random_vectors",
            "dataset": "someone/tags",
            "settings": {"word_vectors": "glove", "freeze_embeddings": False, "tiny": False},
            **changes,
        }
    )


def write_tagger(folder: Path, model: Any = None, tokenizer: Any = None, **changes: Any) -> Path:
    """The checkpoint folder; `changes` are fields of the results."""
    model, tokenizer = model or tiny_tagger(), tokenizer or tiny_tokenizer()
    example = {"text": TEXT, **TOKEN_CLASSIFICATION.predict(model, tokenizer, {"text": TEXT})}
    result = tagger_result(**changes)
    card = build_card(result, model.config, task=TOKEN_CLASSIFICATION, example=example)
    return write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tokenizer,
        card=card,
        eval_results=build_eval_results_files(result, TOKEN_CLASSIFICATION),
    )
