"""Tiny configs of LAMA for the shared model suite."""

from __future__ import annotations

from typing import Any

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_lama import LamaConfig
from tests.support.model_cases import BadInput, OverfitGoal
from tests.support.text_case import GAP, TextCase, drop_second_word

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "embedding_bound": 0.5,
    "recurrent_size": 3,
    "num_heads": 4,
    "classifier_size": 7,
    "embedding_dropout": 0.2,
    "num_labels": 3,
}


class LamaCase(TextCase):
    representative = "learned"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "learned": LamaConfig(**SIZES),
            "mean_embedding": LamaConfig(
                **{**SIZES, "recurrent_size": 4}, context="mean_embedding", position_dim=4, projection_size=3
            ),
            "mean_hidden": LamaConfig(
                **{**SIZES, "classifier_size": 0}, context="mean_hidden", rank=2, append_pooled=True, hidden_dropout=0.1
            ),
            "one_head": LamaConfig(**{**SIZES, "num_heads": 1}, l2_normalize=False, projection_size=0, logit_scale=1.7),
            "linear_mean": LamaConfig(**SIZES, linear_mean=True, ngram_buckets=8),
            "wide": LamaConfig(**SIZES, wide_buckets=8, wide_char_buckets=3),
        }

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        return [*super().bad_inputs(config, head), BadInput("mask_with_a_gap", drop_second_word, GAP)]


CASE = LamaCase()
