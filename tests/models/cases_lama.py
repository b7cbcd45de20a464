"""Tiny configs of LAMA for the shared model suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_lama import LamaConfig
from tests.support.model_cases import BadInput, Batch, OverfitGoal
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
            "mean_embedding": LamaConfig(**{**SIZES, "recurrent_size": 4}, context="mean_embedding", position_dim=4),
            "mean_hidden": LamaConfig(
                **{**SIZES, "classifier_size": 0}, context="mean_hidden", rank=2, append_pooled=True, hidden_dropout=0.1
            ),
            "one_head": LamaConfig(
                **{**SIZES, "num_heads": 1}, l2_normalize=False, word_projection=False, learn_logit_scale=True
            ),
            "linear_mean": LamaConfig(**SIZES, linear_mean=True, ngram_buckets=8),
        }

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        """Where there are n-grams, some stand behind the words of each text."""
        batch = super().make_batch(config, head, lengths, generator)
        if config.ngram_buckets:
            ids, first = batch["input_ids"], 30 - config.ngram_buckets
            places = torch.arange(ids.size(1))
            of_words = torch.tensor(lengths).unsqueeze(1).sub(2).clamp(min=1)
            words, ngrams = (ids - 1) % (first - 1) + 1, first + ids % config.ngram_buckets
            batch["input_ids"] = torch.where(places < of_words, words, ngrams) * batch["attention_mask"]
        return batch

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        return [*super().bad_inputs(config, head), BadInput("mask_with_a_gap", drop_second_word, GAP)]


CASE = LamaCase()
