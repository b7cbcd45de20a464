"""Tiny configs of the kernel encoder for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from tests.support.encoder_case import LANGUAGE, NUMBERS, SIZES, TAGS, EncoderCase
from tests.support.text_case import CLASSIFIER

KERNEL: dict[str, Any] = {**SIZES, "attention_dropout": 0.1}
LEARNED: dict[str, Any] = {**KERNEL, "num_features": 6}


class KernelEncoderCase(EncoderCase):
    representative = "causal"
    # The representative has all heads; those of what comes next must not read ahead.
    heads: ClassVar[Mapping[str, Sequence[str]]] = {
        "mikan": ("AutoModel", CLASSIFIER, TAGS),
        "ikan": (CLASSIFIER, NUMBERS),
        "ika": (CLASSIFIER, LANGUAGE),
    }

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "causal": KernelEncoderConfig(**{**KERNEL, "num_layers": 2}, position="rotary", causal=True),
            "mikan": KernelEncoderConfig(**LEARNED, attention="mikan", p_norm=1.8),
            "ikan": KernelEncoderConfig(**{**LEARNED, "inner_size": 16}, attention="ikan", kernel="direct", p_norm=3.0),
            "ika": KernelEncoderConfig(**LEARNED, attention="ika", causal=True, kernel_gate=True),
        }


CASE = KernelEncoderCase()
