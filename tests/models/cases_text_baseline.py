"""Tiny configs of the text baselines for the shared model suite."""

from __future__ import annotations

from typing import Any

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from tests.support.model_cases import BadInput, OverfitGoal
from tests.support.text_case import GAP, TextCase, drop_second_word

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "position_dim": 4,
    "embedding_bound": 0.5,
    "rank": 5,
    "num_steps": 3,
    "num_filters": 4,
    "recurrent_size": 4,
    "attention_size": 5,
    "attention_heads": 3,
    "overlap_penalty": 0.02,
    "num_heads": 2,
    "dropout": 0.2,
    "pooled_dropout": 0.1,
    "num_labels": 3,
}
RECURRENT = ("bigru", "self_attentive", "bilinear_attention")


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
            "wide_transformer": TextBaselineConfig(
                **{**SIZES, "position_dim": 0}, encoder="transformer", transformer_size=8
            ),
            "self_attentive": TextBaselineConfig(
                **SIZES, encoder="self_attentive", classifier_size=12, classifier_dropout=0.1
            ),
            "wide": TextBaselineConfig(**SIZES, encoder="bigru", wide_buckets=8, wide_char_buckets=3),
            "bilinear_attention": TextBaselineConfig(**SIZES, encoder="bilinear_attention"),
        }

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = super().bad_inputs(config, head)
        if config.encoder in RECURRENT:
            mistakes.append(BadInput("mask_with_a_gap", drop_second_word, GAP))
        return mistakes


CASE = TextBaselineCase()
