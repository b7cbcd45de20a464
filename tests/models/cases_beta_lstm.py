"""Tiny configs of the Beta-LSTM for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from tests.support.mistakes import changed, put
from tests.support.model_cases import BadInput, Batch, OverfitGoal
from tests.support.text_case import GAP, TextCase, drop_second_word

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "embedding_bound": 0.5,
    "hidden_size": 8,
    "dropout": 0.1,
    "locked_dropout": 0.2,
    "num_labels": 3,
}
STEPS = "AutoModelForTokenClassification"
LANGUAGE = "AutoModelForCausalLM"


class BetaLstmCase(TextCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "labels")}
    representative = "bibeta5"
    overfit = OverfitGoal(steps=300, learning_rate=0.03, bound=0.15)
    loss_is_mean_over_rows = False
    has_attentions = False

    def configs(self) -> dict[str, ZooConfig]:
        # Draws of Gamma variables are no differentiable function of the seed, with which losses are compared here;
        # test_ops_beta_lstm_steps.py has their gradients. Those of kumaraswamy and g2 are.
        return {
            "bibeta5": BetaLstmConfig(**SIZES, gate_sampling="mean", kl_lambda=1e-4),
            "kumaraswamy": BetaLstmConfig(**SIZES, cell="kumaraswamy", num_layers=1, position_dim=4),
            "g2": BetaLstmConfig(**SIZES, cell="g2", num_layers=1, weight_dropout=0.2),
        }

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head == LANGUAGE:
            return {"labels": batch["input_ids"].clone()}
        if head == STEPS:
            shape = (*batch["input_ids"].shape, 3)
            return {"labels": torch.randint(0, 2, shape, generator=generator).float()}
        return super().make_labels(config, head, batch, generator)

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = [*super().bad_inputs(config, head), BadInput("mask_with_a_gap", drop_second_word, GAP)]
        if head == LANGUAGE:
            mistakes += [
                BadInput("float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got "),
                BadInput("unknown_label", put("labels", (0, 1), 30), r"labels must lie in 0\.\.29, or be -100; got 30"),
                BadInput("label_of_a_row", changed("labels", lambda x: x[:, 0]), r"labels must have shape \(3, 7\)"),
            ]
        if head == STEPS:
            mistakes += [
                BadInput("integers", changed("labels", torch.Tensor.long), "labels must be floats from 0 to 1, got "),
                BadInput("label_above_one", put("labels", (0, 1, 2), 2), r"labels must lie from 0 to 1, got 2\.0"),
                BadInput("one_label", changed("labels", lambda x: x[..., 0]), r"labels must have shape \(3, 7, 3\)"),
            ]
        return mistakes


CASE = BetaLstmCase()
