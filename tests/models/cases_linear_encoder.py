"""Tiny configs of the linear encoder for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from tests.support.encoder_case import LANGUAGE, SIZES, EncoderCase


class LinearEncoderCase(EncoderCase):
    representative = "favor"
    built = ("encoder.blocks.0.attention",)  # the rest of a block: the kernel encoder
    heads: ClassVar[Mapping[str, Sequence[str]]] = {"learned": (LANGUAGE,)}

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "favor": LinearEncoderConfig(**SIZES, causal=True, num_features=8),
            "learned": LinearEncoderConfig(
                **SIZES, feature_map="learned", p_norm=3.0, position="rotary", causal=True, num_features=8
            ),
        }


CASE = LinearEncoderCase()
