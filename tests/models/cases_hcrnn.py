"""Tiny configs of HCRNN for the shared model suite."""

from __future__ import annotations

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from tests.support.model_cases import OverfitGoal
from tests.support.session_case import SIZES, SessionCase


class HcrnnCase(SessionCase):
    representative = "hcrnn3_bi"
    trained_head = "HcrnnForNextItem"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)

    def configs(self) -> dict[str, ZooConfig]:
        sizes = {**SIZES, "hidden_size": 5, "num_topics": 4}
        return {
            "hcrnn3_bi": HcrnnConfig(**sizes),
            "hcrnn2": HcrnnConfig(**sizes, version=2, attention="normal", drift_constraint="softplus"),
            "hcrnn1": HcrnnConfig(**sizes, version=1, attention="normal"),
        }


CASE = HcrnnCase()
