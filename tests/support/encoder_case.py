"""What the cases of the encoders have in common in the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.layers_higher_order_encoder import HigherOrderAttention
from ctxzoo.models.layers_kernel_encoder import KernelAttention, SpectralDensity
from ctxzoo.models.layers_time_encoder import BehaviourOffsets
from tests.support.mistakes import changed, put
from tests.support.model_cases import BadInput, Batch, OverfitGoal
from tests.support.text_case import TextCase

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "hidden_size": 8,
    "num_heads": 2,
    "num_layers": 1,
    "inner_size": 10,
    "dropout": 0.1,
    "hidden_dropout": 0.1,
    "num_labels": 3,
}
TAGS = "AutoModelForTokenClassification"
LANGUAGE = "AutoModelForCausalLM"
NUMBERS = "KernelEncoderForRegression"
EVENTS = "TimeEncoderForNextEvent"


class EncoderCase(TextCase):
    """A case of an encoder; a subclass gives its configs."""

    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "labels")}
    overfit = OverfitGoal(steps=300, learning_rate=0.02, bound=0.15)
    loss_is_mean_over_rows = False

    def leave_the_start(self, model: torch.nn.Module) -> torch.nn.Module:
        """Larger weights: those of the start leave attention next to uniform."""
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad and parameter.dim() == 2 and parameter.std() < 0.03:
                    parameter.mul_(6)
            for module in model.modules():
                if isinstance(module, HigherOrderAttention) and module.strengths is not None:
                    module.strengths.fill_(0.7)  # contexts have no gradient at 0
                if isinstance(module, KernelAttention) and module.gate is not None:
                    module.gate.fill_(0.5)
                if isinstance(module, SpectralDensity):  # what starts at 0 hides what it is made of
                    for layer in (module.mean, module.log_deviation):
                        torch.nn.init.normal_(layer.weight, std=0.3)
                    if module.copula_strength is not None:
                        module.copula_strength.fill_(0.7)
                if isinstance(module, BehaviourOffsets):
                    torch.nn.init.normal_(module.heads.weight, std=0.3)  # nor has what behaviour is read from
        return model

    def frozen(self, config: ZooConfig) -> set[str]:
        return set()

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        shape = batch["input_ids"].shape
        if head in (LANGUAGE, EVENTS):
            return {"labels": batch["input_ids"].clone()}
        if head == TAGS:
            return {"labels": torch.randint(0, 3, shape, generator=generator)}
        if head == NUMBERS:
            return {"labels": 2 * torch.randn(*shape, 1, generator=generator)}
        return super().make_labels(config, head, batch, generator)

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = super().bad_inputs(config, head)
        if head == NUMBERS:
            return [
                *mistakes,
                BadInput("integers", changed("labels", torch.Tensor.long), "labels must be floats, NaN where there is"),
                BadInput("labels_of_rows", changed("labels", lambda x: x[:, 0]), r"labels must have shape \(3, 7, 1\)"),
            ]
        if head in (TAGS, LANGUAGE, EVENTS):
            last = 2 if head == TAGS else 29
            mistakes += [
                BadInput("float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got "),
                BadInput(
                    "unknown_label", put("labels", (0, 1), 30), rf"labels must lie in 0\.\.{last}, or be -100; got 30"
                ),
                BadInput("label_of_a_row", changed("labels", lambda x: x[:, 0]), r"labels must have shape \(3, 7\)"),
            ]
        return mistakes
