"""The configuration of five well-known models of votes or ratings, to compare NIPEN with."""

from dataclasses import field
from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_vote import VoteConfig


@strict
class VoteBaselineConfig(VoteConfig):
    """A logistic ideal point, AutoRec, CDAE, TrustSVD or CDL, which all give the logit of a yea.

    Args:
        kind: Kind of baseline: ideal_point, x_u . a_d + b_d; autorec, an autoencoder of the votes on a bill; cdae, one
            with a vector for each bill and votes left out in part; trust_svd, factors of legislators, of their bills
            and of those they trust; cdl, factors of bills that follow from their texts.
        with_network: Whether ideal_point adds the others' votes on the bill, weighted by trust.
        factors: Number K of dimensions of a point, factor or code.
        hidden_widths: Widths of the layers of autorec and cdl between their input and the code.
        ridge: Weight in the loss of the squared factors, points and layer weights.
        trust_ridge: Weight in the loss of the squared trust weights, and of TrustSVD's errors of trust.
        text_weight: Weight in the loss of the squared errors of texts in cdl.
        corruption_level: Fraction of the inputs of cdae and cdl that are set to 0 in training.
        dropout: Dropout rate behind the layers of autorec and cdl, and on the bills' points of ideal_point and
            trust_svd.
    """

    model_type = "ctxzoo_vote_baseline"
    variants = MappingProxyType(
        {
            "ideal_point": {"kind": "ideal_point", "factors": 1},
            "ideal_point_network": {"kind": "ideal_point", "factors": 1, "with_network": True, "trust_ridge": 60},
            "autorec": {"kind": "autorec", "factors": 100, "dropout": 0.1},
            "cdae": {"kind": "cdae", "factors": 50, "corruption_level": 0.4},
            "trust_svd": {"kind": "trust_svd", "factors": 10, "ridge": 0.01, "trust_ridge": 1},
            "cdl": {"kind": "cdl", "factors": 10, "corruption_level": 0.3, "dropout": 0.1},
        }
    )

    kind: Literal["ideal_point", "autorec", "cdae", "trust_svd", "cdl"] = "ideal_point"
    with_network: bool = False
    factors: int = 1
    hidden_widths: list[int] = field(default_factory=lambda: [512, 128])
    ridge: float | int = 1
    trust_ridge: float | int = 1
    text_weight: float | int = 1
    corruption_level: float | int = 0.0
    dropout: float | int = 0.0

    def validate_baseline(self) -> None:
        """Check numbers, rates and penalties, and that only the ideal point model has a network."""
        self.check_at_least_one("factors")
        self.check_dropout_rates("corruption_level", "dropout")
        self.check_not_negative("ridge", "trust_ridge", "text_weight")
        if not self.hidden_widths or min(self.hidden_widths) < 1:
            raise ValueError(f"hidden_widths must be one width or more, of 1 or more, got {self.hidden_widths}")
        if self.with_network and self.kind != "ideal_point":
            raise ValueError(f"with_network=True with kind={self.kind!r}: it is an option of 'ideal_point'")
