"""Tiny configs of NIPEN for the shared model suite."""

from __future__ import annotations

from typing import Any

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_nipen import NipenConfig
from tests.support.model_cases import OverfitGoal
from tests.support.vote_case import SIZES, VoteCase

# The weights of texts and of layers are small, so that votes decide what is overfitted.
OF_CASE: dict[str, Any] = {
    **SIZES,
    "num_topics": 3,
    "encoder_widths": [6, 5],
    "ntn_widths": [4],
    "weight_lambda": 0.01,
    "topic_lambda": 0.01,
    "ideal_lambda": 1e-4,
    "text_lambda": 0.01,
    "trust_lambda": 0.001,
    "scale_lambda": 1e-4,
    "tensor_lambda": 1e-4,
    "delta_lambda": 1e-4,
}


class NipenCase(VoteCase):
    representative = "amortized"
    trained_head = "NipenForVotePrediction"
    overfit = OverfitGoal(steps=400, learning_rate=0.05, bound=0.6)

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "amortized": NipenConfig(**OF_CASE, amortized_bills=True),
            "sdae_low_rank": NipenConfig(**OF_CASE, encoder="sdae", trust_rank=2),
            "tensor": NipenConfig(**OF_CASE, version="tensor"),
        }


CASE = NipenCase()
