"""The configuration of the linear encoder: the features whose products are its kernel, and the sizes."""

from types import MappingProxyType
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_encoder import TextEncoderConfig


@strict
class LinearEncoderConfig(TextEncoderConfig):
    """Attention in time linear in the length: a kernel that is an inner product of features (Choromanski et al. 2021).

    Args:
        feature_map: Kind of feature map: learned; favor, hyperbolic, relu and trig (random features); or elu; see
            `feature_map` in ops_linear_encoder.
        p_norm: Exponent p of the keys' importance; elu has no importance.
        num_features: M, number of features; 0: half as many learned ones as a head has numbers, at least 32, and of
            random ones d ln d; None: d ln d of all, as in earlier versions. See `default_num_features`.
        qk_norm: Whether queries and keys of each head are normalised.
        state_decay: Factor in (0, 1] by which the sums over earlier keys are multiplied at each step, for all heads or,
            as a list, for each; 1: nothing is forgotten. Below 1 where `causal` is set only.
    """

    model_type = "ctxzoo_linear_encoder"
    variants = MappingProxyType(
        {"favor": {"feature_map": "favor"}, "learned": {"feature_map": "learned"}, "elu": {"feature_map": "elu"}},
    )

    position: Literal["none", "sinusoidal", "rotary"] = "sinusoidal"
    feature_map: Literal["favor", "hyperbolic", "elu", "relu", "learned", "trig"] = "learned"
    p_norm: float | int = 2.0
    num_features: int | None = 0
    qk_norm: bool = True
    state_decay: float | int | list[float] = 1.0

    def validate_features(self) -> None:
        """Check the fields that describe the features.

        Raises:
            ValueError: a p_norm that is not above 0, fewer features than none, another number of them than elu has, or
                a state_decay that is none, or below 1 without `causal`.
        """
        is_list = isinstance(self.state_decay, list)
        factors: Any = self.state_decay if is_list else [self.state_decay]
        if (is_list and len(factors) != self.num_heads) or not all(0 < factor <= 1 for factor in factors):
            raise ValueError(
                f"state_decay is {self.state_decay}; expected a number in (0, 1], or {self.num_heads}, one for a head"
            )
        if min(factors) < 1 and not self.causal:
            raise ValueError(
                f"state_decay={self.state_decay} of attention that is not causal; expected 1, or causal=True"
            )
        if not self.p_norm > 0:
            raise ValueError(f"p_norm must be above 0, got {self.p_norm}")
        if self.num_features is not None and self.num_features < 0:
            raise ValueError(f"num_features must be 0 or above, got {self.num_features}")
        if self.feature_map == "elu" and self.num_features not in (None, 0, self.head_size):
            raise ValueError(
                f"num_features is {self.num_features}: feature_map='elu' has as many features as a head has numbers, "
                f"{self.head_size}; leave it out"
            )
