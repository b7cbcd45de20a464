"""Tiny configs of the BiLSTM tagger for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.training.classification import label_fields
from tests.support.mistakes import changed, put
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
SPANS = label_fields(["O", "B-X", "I-X"])


class BilstmTaggerCase(TextCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "labels")}
    representative = "words"
    trained_head = "AutoModelForTokenClassification"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)
    loss_is_mean_over_rows = False
    has_attentions = False

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "words": BilstmTaggerConfig(**SIZES),
            "sequences": BilstmTaggerConfig(**{**SIZES, **SPANS}, crf=True, scheme="IOB2"),
            "positions": BilstmTaggerConfig(**SIZES, position_dim=4, hidden_dropout=0.1),
        }

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head != self.trained_head:
            return {}
        labels = torch.randint(0, 3, batch["input_ids"].shape, generator=generator)
        return {"labels": labels.masked_fill(batch["attention_mask"] == 0, -100)}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        return [*super().bad_inputs(config, head), BadInput("mask_with_a_gap", drop_second_word, GAP)]

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
