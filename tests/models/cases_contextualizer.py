"""Tiny Contextualizer configs and batches for the shared model suite."""

from __future__ import annotations

from typing import Any, ClassVar

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from tests.support.model_cases import OverfitGoal
from tests.support.text_case import ENCODER, TextCase

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "position_dim": 4,
    "rank": 5,
    "num_steps": 3,
    "dropout": 0.2,
    "num_labels": 3,
}


class ContextualizerCase(TextCase):
    representative = "paper"
    heads: ClassVar[dict[str, tuple[str, ...]]] = {"encoder": (TextCase.trained_head,)}
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)

    def configs(self) -> dict[str, ZooConfig]:
        trained: dict[str, Any] = {"freeze_embeddings": False}
        return {
            "paper": ContextualizerConfig(**SIZES),
            "learned": ContextualizerConfig(**SIZES, **trained, initial_context="learned", recurrent=False),
            "given_vectors": ContextualizerConfig(**SIZES, embedding_seed=None, initial_context="ones"),
            "samples": ContextualizerConfig(**SIZES, **trained, eval_context_samples=3, concatenate_steps=True),
            "encoder": ContextualizerConfig(**SIZES, **trained, encoder_config=ENCODER, train_encoder=True),
            "wide": ContextualizerConfig(**SIZES, **trained, wide_buckets=8, wide_char_buckets=3),
            "tokenwise": ContextualizerConfig(**SIZES, **trained, variant="tokenwise", recurrent=False),
            "tokenwise_from_tokens": ContextualizerConfig(
                **{**SIZES, "position_dim": 0}, **trained, variant="tokenwise", tokenwise_values="tokens"
            ),
        }


CASE = ContextualizerCase()
