"""The configuration of the higher-order encoder: how pairs of keys act, and the sizes."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_encoder import TextEncoderConfig


@strict
class HigherOrderEncoderConfig(TextEncoderConfig):
    """Attention of higher order: a query is compared with pairs of keys, not with single ones.

    Args:
        order_type: Kind of interaction of pairs of keys: contextual, factorised, trilinear, volume or anova; see
            `HigherOrderAttention`.
        num_higher_heads: Number of heads with higher-order attention; the others are pairwise. None: all.
        max_exact_length: Longest sequence for which trilinear and volume attention forms all pairs of keys.
        pair_window: Number of last keys from which trilinear and volume attention forms pairs; None: all.
        distinct: Whether the two keys of a pair have to differ (trilinear, volume, factorised).
        order: Number of tokens that factorised attention joins, 2 to 4, or highest order of the scores of anova; None:
            3 and 2.
        qk_norm: Whether queries and keys of the higher-order heads are normalised.
        attention_dropout: Dropout rate on the attention weights.
        memory_length: Largest number of earlier keys in a cached state that grows; 0: no limit.
    """

    model_type = "ctxzoo_higher_order_encoder"
    variants = MappingProxyType({"contextual": {}, "factorised": {"order_type": "factorised"}})

    position: Literal["none", "sinusoidal", "rotary"] = "sinusoidal"
    order_type: Literal["contextual", "trilinear", "volume", "factorised", "anova"] = "contextual"
    num_higher_heads: int | None = None
    max_exact_length: int = 128
    pair_window: int | None = None
    distinct: bool = False
    order: int | None = None
    qk_norm: bool = True
    attention_dropout: float | int = 0.0
    memory_length: int = 0

    def validate_attention(self) -> None:
        """Check the fields of attention of higher order.

        Raises:
            ValueError: a number outside of what it may be.
        """
        self.check_dropout_rates("attention_dropout")
        self.check_not_negative("memory_length")
        self.check_at_least_one("max_exact_length")
        orders = (2, 4) if self.order_type == "factorised" else (1, None)
        ranges = {"num_higher_heads": (1, self.num_heads), "pair_window": (1, None), "order": orders}
        for name, (least, most) in ranges.items():
            number = getattr(self, name)
            if number is not None and (number < least or (most is not None and number > most)):
                raise ValueError(f"{name} must be {least} {f'to {most}' if most else 'or above'}, got {number}")
