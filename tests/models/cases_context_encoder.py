"""Tiny configs of the ContextEncoder for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_context_encoder import ContextEncoderConfig
from ctxzoo.models.layers_context_encoder_density import SpectralDensity
from ctxzoo.models.layers_context_encoder_kernels import KernelAttention
from ctxzoo.models.layers_context_encoder_time import BehaviourOffsets
from ctxzoo.models.layers_context_encoder_triples import HigherOrderAttention
from tests.support.mistakes import changed, drop, put
from tests.support.model_cases import BadInput, Batch, OverfitGoal
from tests.support.text_case import CLASSIFIER, TextCase

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "word_dim": 6,
    "embedding_bound": 1.0,
    "hidden_size": 8,
    "num_heads": 2,
    "num_layers": 1,
    "inner_size": 10,
    "dropout": 0.1,
    "hidden_dropout": 0.1,
    "attention_dropout": 0.1,
    "num_labels": 3,
}
LEARNED: dict[str, Any] = {**SIZES, "num_features": 6}
TAGS = "AutoModelForTokenClassification"
LANGUAGE = "AutoModelForCausalLM"
NUMBERS = "ContextEncoderForRegression"
EVENTS = "ContextEncoderForNextEvent"


class ContextEncoderCase(TextCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "timestamps", "labels")}
    representative = "causal"
    overfit = OverfitGoal(steps=300, learning_rate=0.02, bound=0.15)
    loss_is_mean_over_rows = False
    # The representative has all heads; those of what comes next must not read ahead.
    heads: ClassVar[Mapping[str, Sequence[str]]] = {
        "mikan": ("AutoModel", CLASSIFIER, TAGS),
        "ikan": (CLASSIFIER, NUMBERS),
        "ika": (CLASSIFIER, LANGUAGE),
        "esa": (LANGUAGE,),
        "hsa": (CLASSIFIER,),
        "lste": (EVENTS,),
    }

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "causal": ContextEncoderConfig(**{**SIZES, "num_layers": 2}, position="rotary", causal=True),
            "mikan": ContextEncoderConfig(**LEARNED, attention="mikan", p_norm=1.8, magnitude_dropout=0.1),
            "ikan": ContextEncoderConfig(**LEARNED, attention="ikan", kernel="direct", p_norm=3.0, position="learned"),
            "ika": ContextEncoderConfig(
                **LEARNED, attention="ika", stationary=True, causal=True, num_eval_samples=2, kernel_gate=True
            ),
            "esa": ContextEncoderConfig(
                **SIZES, attention="esa", feature_map="learned", p_norm=3.0, causal=True, chunk_size=3, num_features=8
            ),
            "hsa": ContextEncoderConfig(**SIZES, attention="hsa", num_higher_heads=1, value_order=2),
            "lste": ContextEncoderConfig(
                **SIZES, position="lste", causal=True, num_components=2, num_frequencies=3, time_unit=5.0, time_span=8.0
            ),
        }

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        batch = super().make_batch(config, head, lengths, generator)
        assert isinstance(config, ContextEncoderConfig)
        if config.reads_time:
            gaps = torch.randint(0, 12, batch["input_ids"].shape, generator=generator)
            batch["timestamps"] = 1_330_000_000 + gaps.cumsum(dim=1)
        return batch

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

    def without_gradient(self, config: ZooConfig, head: str) -> dict[str, str]:
        assert isinstance(config, ContextEncoderConfig)
        if config.attention != "dot" or config.position == "rotary":
            return {}
        why = "q.b is the same for all keys, and cancels in the softmax"
        return {f"encoder.blocks.{layer}.attention.key.bias": why for layer in range(config.num_layers)}

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
        assert isinstance(config, ContextEncoderConfig)
        if config.reads_time:
            mistakes += [
                BadInput("no_times", drop("timestamps"), "position='lste' reads timestamps"),
                BadInput("float32_times", changed("timestamps", torch.Tensor.float), "which cannot hold times such as"),
                BadInput("falling_times", changed("timestamps", lambda x: x.flip(1)), "before an earlier event at"),
                BadInput("short_times", changed("timestamps", lambda x: x[:, 1:]), r"timestamps of shape \(3, 6\)"),
            ]
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


CASE = ContextEncoderCase()
