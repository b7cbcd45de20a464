"""Gradient checkpointing: how much memory of a training step it saves at 2,048 words."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_higher_order_encoder import HigherOrderEncoderForSequenceClassification
from ctxzoo.models.modeling_kernel_encoder import (
    KernelEncoderForSequenceClassification,
    KernelEncoderForTokenClassification,
)
from ctxzoo.models.modeling_linear_encoder import LinearEncoderForCausalLM

LENGTH = 2048
ENCODER = {"vocab_size": 50, "word_dim": 32, "hidden_size": 32, "num_heads": 2, "num_layers": 4}


def peak_bytes(model: Any, batch: dict[str, torch.Tensor]) -> int:
    """The most memory that a training step holds beside model and batch."""
    model.train().zero_grad()
    torch.manual_seed(1)  # of dropout
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        model(**batch).loss.backward()
    now = most = 0
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_class", "config"),
    [
        (KernelEncoderForSequenceClassification, KernelEncoderConfig(**ENCODER, attention="dot")),
        (KernelEncoderForTokenClassification, KernelEncoderConfig(**ENCODER, attention="ikan", kernel="direct")),
        (LinearEncoderForCausalLM, LinearEncoderConfig(**ENCODER, causal=True)),
        (HigherOrderEncoderForSequenceClassification, HigherOrderEncoderConfig(**ENCODER)),
        # A step of the Contextualizer keeps one tensor of the size of the text: ten of them are worth checkpoints.
        (ContextualizerForSequenceClassification, ContextualizerConfig(vocab_size=50, word_dim=64, num_steps=10)),
    ],
    ids=["dot", "ikan", "esa", "hsa", "contextualizer"],
)
def test_a_step_at_2048_words_needs_at_most_six_tenths_and_has_the_same_gradients(
    model_class: Any, config: Any
) -> None:
    torch.manual_seed(0)
    model = model_class(config)
    ids = torch.randint(1, 50, (1, LENGTH))
    labels = torch.tensor([1]) if model_class.__name__.endswith("SequenceClassification") else ids % 2
    batch = {"input_ids": ids, "labels": labels}
    without = peak_bytes(model, batch)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    expected = [parameter.grad.clone() for parameter in trained]
    model.gradient_checkpointing_enable()
    assert peak_bytes(model, batch) <= 0.6 * without
    for parameter, gradient in zip(trained, expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
