"""What all trainers of word vectors have in common: the progress that they report, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus

REPORT_SECONDS = 0.5  # between two reports of a trainer


@dataclass
class EmbeddingProgress:
    """The progress that a trainer reports.

    Attributes:
        epoch: Number of finished passes over the text.
        words: Number of words read so far in all passes, including those dropped by subsampling but not unknown words.
        total_words: Number of words that the whole training reads.
        seconds: Seconds spent in training, including earlier, interrupted sessions.
        rate: Current learning rate.
        loss: Mean loss of a centre word in the current pass, in nats, estimated from every 16th centre word.
        epoch_losses: Mean loss of each finished pass, in nats.
    """

    epoch: int = 0
    words: int = 0
    total_words: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    loss: float = float("nan")
    epoch_losses: list[float] = field(default_factory=list)


FAR_ABOVE = 3  # times the loss of a model that knows nothing


def compute_untrained_loss(model: WordEmbeddingForMaskedLM, negative_samples: int) -> float:
    """Return the loss of a word for an untrained model, in nats: log 2 for the word and for each noise word.

    Where each context word predicts by itself, the loss of a full window counts.
    """
    predictions = model.config.num_positions if model.config.predicts_from_each_word else 1
    return predictions * (negative_samples + 1) * math.log(2)


def check_training_loss(loss: float, untrained: float, progress: str) -> None:
    """Raise an error if the training loss is not finite, or far above that of an untrained model.

    Args:
        loss: Mean loss of a centre word in the current pass so far, in nats.
        untrained: Loss of an untrained model in nats, from `compute_untrained_loss`.
        progress: Text on how far training is, its learning rate and what to do, which ends the error message.

    Raises:
        FloatingPointError: the loss is not finite, or more than `FAR_ABOVE` times that of a model that knows nothing.
    """
    if not loss <= FAR_ABOVE * untrained:
        above = f" (a model that knows nothing: at most {untrained:.3g})" if math.isfinite(loss) else ""
        raise FloatingPointError(f"the loss is {loss:.4g}{above} {progress}")


def check_vocabulary(model: WordEmbeddingForMaskedLM, corpus: Corpus) -> None:
    """Raise ValueError unless the model has as many words as the corpus."""
    words = model.config.vocab_size - model.config.num_special_tokens
    if words != len(corpus.words):
        raise ValueError(
            f"the model has {words} words, the corpus {len(corpus.words)}; build the model from the corpus"
        )


def get_config_fields(model: WordEmbeddingForMaskedLM) -> dict[str, Any]:
    """Return the config fields that only word embedding models have."""
    config = model.config.to_dict()
    return {name: config[name] for name in type(model.config).__annotations__}


def check_same_training(checkpoint: str, checkpoint_settings: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the setting, if a checkpoint was trained with other settings."""
    for name, value in settings.items():
        if name not in checkpoint_settings or checkpoint_settings[name] != value:
            raise ValueError(
                f"{checkpoint} is of a training with {name}={checkpoint_settings.get(name)!r}, not {value!r}; "
                "resume with the same settings, or start anew"
            )
