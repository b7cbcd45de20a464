"""`ctxzoo train session-recommendation`: what it trains on which sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ctxzoo.data.own_splits import OwnRows
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest
from ctxzoo.tasks.sequences.card import SESSION_CARD
from ctxzoo.tasks.sequences.kinds import SESSIONS
from ctxzoo.tasks.sequences.run import own_sequences, typed_history
from ctxzoo.tasks.session_recommendation.commands import BETWEEN
from ctxzoo.tasks.session_recommendation.default_settings import (
    ARCHITECTURE,
    RUN,
    SEARCH_SPACE,
    VARIANT,
    default_preset,
)
from ctxzoo.tasks.session_recommendation.run import TINY_SIZE, VARIANTS, SessionRun, SessionSettings, session_run


class SessionTraining(ZooTraining):
    """What `ctxzoo train` does for session recommendation."""

    card: ClassVar[TaskCard] = SESSION_CARD
    run_class: ClassVar[type[ZooRun]] = SessionRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = RUN["best_by"]
    kept_with_checkpoint = ZooTraining.kept_with_checkpoint | {"max_length"}

    def predict_options(self, checkpoint: Path, test: Path) -> str:
        return f"--history {typed_history(checkpoint, BETWEEN, ('', ''))}"

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(VARIANTS[architecture])

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(architecture, variant, VARIANTS[architecture][variant])
        run = session_run(SessionSettings(), "own", architecture, variant, seed=0, recipe="own", commit="")
        return replace(preset_of(run, of_run=()), run=RUN)

    def tiny(self, preset: Preset) -> Preset:
        small = {"embedding_size": TINY_SIZE, "hidden_size": TINY_SIZE} if preset.config else {}
        return replace(preset, config={**preset.config, **small}, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        return own_sequences(request, SESSIONS)
