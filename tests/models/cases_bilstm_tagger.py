"""Tiny configs of the BiLSTM tagger for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.training.classification import label_fields
from tests.support.mistakes import changed, drop, put
from tests.support.model_cases import BadInput, Batch, OverfitGoal
from tests.support.text_case import GAP, TextCase, drop_second_word

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "embedding_bound": 0.5,
    "recurrent_size": 3,
    "projection_size": 5,
    "embedding_dropout": 0.2,
    "num_labels": 3,
}
FEATURES = {"num_features": 12, "feature_dim": 4, "wide_window": 1, "feature_dropout": 0.2, "wide_dropout": 0.2}
SPANS = label_fields(["O", "B-X", "I-X"])


def add_features(batch: Batch) -> None:
    batch["feature_ids"] = torch.ones(*batch["attention_mask"].shape, 3, dtype=torch.long)


class BilstmTaggerCase(TextCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "feature_ids", "labels")}
    representative = "words"
    trained_head = "AutoModelForTokenClassification"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)
    loss_is_mean_over_rows = False
    has_attentions = False

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "words": BilstmTaggerConfig(**SIZES),
            "sequences": BilstmTaggerConfig(**{**SIZES, **SPANS}, crf=True, scheme="IOB2"),
            "features": BilstmTaggerConfig(**SIZES, **FEATURES),
            "positions": BilstmTaggerConfig(**SIZES, position_dim=4, hidden_dropout=0.1),
        }

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        batch = super().make_batch(config, head, lengths, generator)
        if not config.num_features:
            return batch
        ids = torch.randint(0, config.num_features, (*batch["input_ids"].shape, 3), generator=generator)
        return {**batch, "feature_ids": ids * batch["attention_mask"].unsqueeze(-1)}

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head != self.trained_head:
            return {}
        labels = torch.randint(0, 3, batch["input_ids"].shape, generator=generator)
        return {"labels": labels.masked_fill(batch["attention_mask"] == 0, -100)}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = [*super().bad_inputs(config, head), BadInput("mask_with_a_gap", drop_second_word, GAP)]
        if not config.num_features:
            return [*mistakes, BadInput("unread_features", add_features, "feature_ids for a model with num_features=0")]
        return [
            *mistakes,
            BadInput("no_features", drop("feature_ids"), "no feature_ids for a model with num_features=12; take what"),
            BadInput("features_of_a_row", changed("feature_ids", lambda x: x[:, 0]), r"expected \(3, 7\) and the feat"),
            BadInput("float_features", changed("feature_ids", torch.Tensor.float), "feature_ids must be integers"),
            BadInput("unknown_feature", put("feature_ids", (0, 1, 2), 12), "feature id 12 is outside the table of 12"),
        ]

    def bad_labels(self) -> list[BadInput]:
        return [
            BadInput(
                "float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got torch.float32"
            ),
            BadInput("bool_labels", changed("labels", torch.Tensor.bool), "labels must be integers, got torch.bool"),
            BadInput("unknown_label", put("labels", (0, 1), 3), r"labels must lie in 0\.\.2, or be -100; got 3"),
            BadInput("negative_label", put("labels", (0, 1), -1), r"labels must lie in 0\.\.2, or be -100; got -1"),
            BadInput("label_of_a_row", changed("labels", lambda x: x[:, 0]), r"shape \(3, 7\), one for each word"),
        ]


CASE = BilstmTaggerCase()
