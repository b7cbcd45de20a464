"""Tiny configs of the higher-order encoder for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from tests.support.encoder_case import SIZES, EncoderCase
from tests.support.text_case import CLASSIFIER


class HigherOrderEncoderCase(EncoderCase):
    representative = "contextual"
    built = ("encoder.blocks.0.attention",)  # the rest of a block: the kernel encoder
    heads: ClassVar[Mapping[str, Sequence[str]]] = {"trilinear": (CLASSIFIER,)}

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "contextual": HigherOrderEncoderConfig(
                **SIZES, num_higher_heads=1, attention_dropout=0.1, position="rotary", causal=True
            ),
            "trilinear": HigherOrderEncoderConfig(**SIZES, order_type="trilinear"),
        }


CASE = HigherOrderEncoderCase()
