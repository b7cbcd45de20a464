"""Tiny configs of GRU4REC, NARM and STAMP for the shared model suite."""

from __future__ import annotations

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from tests.support.model_cases import OverfitGoal
from tests.support.session_case import SIZES, SessionCase


class SessionBaselineCase(SessionCase):
    representative = "narm"
    trained_head = "SessionBaselineForNextItem"
    overfit = OverfitGoal(steps=200, learning_rate=0.03, bound=0.1)
    has_attentions = False

    def configs(self) -> dict[str, ZooConfig]:
        return {
            kind: SessionBaselineConfig(**SIZES, hidden_size=5, kind=kind)  # type: ignore[arg-type]
            for kind in ("narm", "gru4rec", "stamp")
        }


CASE = SessionBaselineCase()
