"""`ctxzoo train session-recommendation`: what it trains on which sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ctxzoo.data.own_splits import OwnRows
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_sequences import own_sequences
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest
from ctxzoo.tasks.session_recommendation.card import CARD
from ctxzoo.tasks.session_recommendation.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.session_recommendation.reader import check_sessions, load_sessions
from ctxzoo.tasks.session_recommendation.run import TINY_SIZE, VARIANTS, SessionRun, SessionSettings, session_run
from ctxzoo.tasks.session_recommendation.sample import ITEMS


@dataclass(frozen=True, kw_only=True)
class OwnSessionRun(SessionRun):
    """A run whose best epoch has the highest MRR@20, with the settings of a paper too.

    A shop may have so few items that the right one is among the first twenty after an epoch, whatever is learned.
    """

    @property
    def monitor(self) -> str:
        return f"validation/{SessionTraining.objective}"


class SessionTraining(ZooTraining):
    """What `ctxzoo train` does for session recommendation."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = OwnSessionRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "mrr_at_20"
    kept_with_checkpoint = ZooTraining.kept_with_checkpoint | {"max_length"}
    predicted = '--history "one item | another"'

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(VARIANTS[architecture])

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(architecture, variant, VARIANTS[architecture][variant])
        run = session_run(SessionSettings(), "own", architecture, variant, seed=0, recipe="own", commit="")
        return preset_of(run, of_run=())

    def tiny(self, preset: Preset) -> Preset:
        small = {"embedding_size": TINY_SIZE, "hidden_size": TINY_SIZE} if preset.config else {}
        return replace(preset, config={**preset.config, **small}, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        return own_sequences(request, load_sessions, check_sessions, ITEMS, "sessions")
