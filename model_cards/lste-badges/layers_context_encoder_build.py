"""The ways to attend by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .layers_context_encoder_attention import Attention
from .layers_context_encoder_kernels import KERNEL_ATTENTIONS
from .layers_context_encoder_linear import EfficientAttention
from .layers_context_encoder_triples import HigherOrderAttention

ATTENTIONS: Mapping[str, type[Attention]] = MappingProxyType(
    {**KERNEL_ATTENTIONS, "esa": EfficientAttention, "hsa": HigherOrderAttention}
)


def build_attention(config: Any, layer_index: int) -> Attention:
    """Return the attention of a layer of a `ContextEncoderConfig`, by its field `attention` and those of its kind.

    Args:
        layer_index: counted from 0.

    Raises:
        ValueError: there is no such attention.
    """
    if config.attention not in ATTENTIONS:
        raise ValueError(f"unknown attention {config.attention!r}; known: {', '.join(ATTENTIONS)}")
    return ATTENTIONS[config.attention].from_config(config, layer_index)
