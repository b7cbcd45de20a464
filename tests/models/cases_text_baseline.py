"""Tiny configs of the text baselines for the shared model suite."""

from __future__ import annotations

from typing import Any

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from tests.support.model_cases import OverfitGoal
from tests.support.text_case import TextCase

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "position_dim": 4,
    "embedding_bound": 0.5,
    "rank": 5,
    "num_steps": 3,
    "num_filters": 4,
    "recurrent_size": 4,
    "num_heads": 2,
    "dropout": 0.2,
    "pooled_dropout": 0.1,
    "num_labels": 3,
}


class TextBaselineCase(TextCase):
    representative = "bigru"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "mean": TextBaselineConfig(**SIZES),
            "attention": TextBaselineConfig(**SIZES, encoder="attention"),
            "cnn": TextBaselineConfig(**{**SIZES, "position_dim": 0}, encoder="cnn", kernel_sizes=[1, 3]),
            "bigru": TextBaselineConfig(**SIZES, encoder="bigru"),
            "transformer": TextBaselineConfig(**SIZES, encoder="transformer", freeze_embeddings=True, num_layers=2),
        }


CASE = TextBaselineCase()
