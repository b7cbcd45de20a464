"""Tiny configs of the time encoder for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from tests.support.encoder_case import EVENTS, SIZES, EncoderCase
from tests.support.mistakes import changed, drop
from tests.support.model_cases import BadInput, Batch


class TimeEncoderCase(EncoderCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "timestamps", "labels")}
    representative = "lste"
    trained_head = EVENTS
    built = ("encoder.time", "encoder.time_weights.0")  # its blocks are those of the kernel encoder
    heads: ClassVar[Mapping[str, Sequence[str]]] = {"mercer": (EVENTS,)}

    def configs(self) -> dict[str, ZooConfig]:
        sizes = {name: value for name, value in SIZES.items() if name != "num_labels"}
        return {
            "lste": TimeEncoderConfig(
                **sizes,
                position="lste",
                attention_dropout=0.1,
                num_components=2,
                num_frequencies=3,
                time_unit=5.0,
                time_span=8.0,
            ),
            "mercer": TimeEncoderConfig(
                **sizes, position="mercer", time_combine="add", time_size=4, num_harmonics=2, time_unit=5.0
            ),
        }

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        batch = super().make_batch(config, head, lengths, generator)
        gaps = torch.randint(0, 12, batch["input_ids"].shape, generator=generator)
        batch["timestamps"] = 1_330_000_000 + gaps.cumsum(dim=1)
        return batch

    def bad_labels(self) -> list[BadInput]:
        return []  # those of classes of a text

    def without_gradient(self, config: ZooConfig, head: str) -> dict[str, str]:
        why = "q.b is the same for all keys, and cancels in the softmax"
        return {f"{'' if head == 'AutoModel' else 'encoder.'}blocks.0.attention.key.bias": why}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        return [
            *super().bad_inputs(config, head),
            BadInput("no_times", drop("timestamps"), "position='[a-z]+' reads timestamps"),
            BadInput("float32_times", changed("timestamps", torch.Tensor.float), "which cannot hold times such as"),
            BadInput("falling_times", changed("timestamps", lambda x: x.flip(1)), "before an earlier event at"),
            BadInput("short_times", changed("timestamps", lambda x: x[:, 1:]), r"timestamps of shape \(3, 6\)"),
        ]


CASE = TimeEncoderCase()
