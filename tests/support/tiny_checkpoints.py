"""Tiny checkpoints of every problem that has a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.tokenization_word import build_word_tokenizer
from tests.models.cases_lama import SIZES
from tests.support import tiny_rows, tiny_tagger, tiny_word_embedding
from tests.support.tiny_checkpoint import write_tiny

WORDS = ["the", "lamp", "is", "solid", "bad"]


def lama() -> LamaForSequenceClassification:
    torch.manual_seed(0)
    return LamaForSequenceClassification(LamaConfig(**SIZES)).eval()


def write_lama(folder: Path) -> Path:
    return write_checkpoint_folder(folder, model=lama(), tokenizer=build_word_tokenizer(WORDS), card="# Card")


WRITERS: dict[str, Callable[[Path], Path]] = {
    "question-answering": write_tiny,
    "text-classification": write_lama,
    "token-classification": tiny_tagger.write_tagger,
    "fill-mask": tiny_word_embedding.write_tiny,
    **tiny_rows.WRITERS,
}
