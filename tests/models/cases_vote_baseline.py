"""Tiny configs of the models of votes that NIPEN is compared with, for the shared model suite."""

from __future__ import annotations

from typing import Any

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from tests.support.model_cases import OverfitGoal
from tests.support.vote_case import SIZES, VoteCase

OF_CASE: dict[str, Any] = {
    **SIZES,
    "factors": 3,
    "hidden_widths": [6, 5],
    "ridge": 1e-5,
    "trust_ridge": 1e-5,
    "text_weight": 1e-4,
}


class VoteBaselineCase(VoteCase):
    representative = "cdl"
    trained_head = "VoteBaselineForVotePrediction"
    overfit = OverfitGoal(steps=400, learning_rate=0.05, bound=0.02)

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "cdl": VoteBaselineConfig(**OF_CASE, kind="cdl", dropout=0.1, corruption_level=0.3),
            "network": VoteBaselineConfig(**OF_CASE, with_network=True, dropout=0.1),
            "autorec": VoteBaselineConfig(**OF_CASE, kind="autorec", dropout=0.1),
            "cdae": VoteBaselineConfig(**OF_CASE, kind="cdae", corruption_level=0.4),
            "trust_svd": VoteBaselineConfig(**OF_CASE, kind="trust_svd", dropout=0.1),
        }


CASE = VoteBaselineCase()
