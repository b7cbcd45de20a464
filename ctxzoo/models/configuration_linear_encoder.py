"""The configuration of the linear encoder: the features whose products are its kernel, and the sizes."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_encoder import TextEncoderConfig


@strict
class LinearEncoderConfig(TextEncoderConfig):
    """Attention in time linear in the length: a kernel that is an inner product of features (Choromanski et al. 2021).

    Args:
        feature_map: Kind of feature map: favor, hyperbolic, relu and trig (random features), learned, or elu; see
            `feature_map` in ops_linear_encoder.
        p_norm: Exponent p of the keys' importance; elu has no importance.
        num_features: M, number of features; None: d ln d, see `default_num_features`.
        qk_norm: Whether queries and keys of each head are normalised.
    """

    model_type = "ctxzoo_linear_encoder"
    variants = MappingProxyType(
        {"favor": {}, "learned": {"feature_map": "learned"}, "elu": {"feature_map": "elu"}},
    )

    position: Literal["none", "sinusoidal", "rotary"] = "sinusoidal"
    feature_map: Literal["favor", "hyperbolic", "elu", "relu", "learned", "trig"] = "favor"
    p_norm: float | int = 2.0
    num_features: int | None = None
    qk_norm: bool = True

    def validate_features(self) -> None:
        """Check the fields that describe the features.

        Raises:
            ValueError: a p_norm that is not above 0, no feature, or another number of them than elu has.
        """
        if not self.p_norm > 0:
            raise ValueError(f"p_norm must be above 0, got {self.p_norm}")
        if self.num_features is not None and self.num_features < 1:
            raise ValueError(f"num_features must be at least 1, got {self.num_features}")
        if self.feature_map == "elu" and self.num_features not in (None, self.head_size):
            raise ValueError(
                f"num_features is {self.num_features}: feature_map='elu' has as many features as a head has numbers, "
                f"{self.head_size}; leave it out"
            )
