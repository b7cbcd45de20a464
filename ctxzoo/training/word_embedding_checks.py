"""What every trainer of word vectors refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxzoo.data.corpus import Corpus
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM


def check_vocabulary(model: WordEmbeddingForMaskedLM, corpus: Corpus) -> None:
    """Raise ValueError unless the model has as many words as the corpus."""
    words = model.config.vocab_size - model.config.num_special_tokens
    if words != len(corpus.words):
        raise ValueError(
            f"the model has {words} words, the corpus {len(corpus.words)}; build the model from the corpus"
        )


def model_fields(model: WordEmbeddingForMaskedLM) -> dict[str, Any]:
    """What the configuration of word embeddings adds to that of all models."""
    config = model.config.to_dict()
    return {name: config[name] for name in type(model.config).__annotations__}


def check_same_training(checkpoint: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the setting, unless a checkpoint is of a training with our settings."""
    for name, value in ours.items():
        if name not in theirs or theirs[name] != value:
            raise ValueError(
                f"{checkpoint} is of a training with {name}={theirs.get(name)!r}, not {value!r}; resume with the "
                "same settings, or start anew without --resume"
            )
