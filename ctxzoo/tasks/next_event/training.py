"""`ctxzoo train next-event`: what it trains on which histories."""

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
from ctxzoo.tasks.next_event.commands import AT, BETWEEN
from ctxzoo.tasks.next_event.default_settings import SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.next_event.run import (
    ARCHITECTURE,
    ENCODINGS,
    TINY_SIZE,
    NextEventRun,
    NextEventSettings,
    next_event_run,
)
from ctxzoo.tasks.sequences.card import EVENT_CARD
from ctxzoo.tasks.sequences.kinds import HISTORIES
from ctxzoo.tasks.sequences.run import own_sequences, typed_history


class NextEventTraining(ZooTraining):
    """What `ctxzoo train` does for next events."""

    card: ClassVar[TaskCard] = EVENT_CARD
    run_class: ClassVar[type[ZooRun]] = NextEventRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "recall_at_1"
    kept_with_checkpoint = ZooTraining.kept_with_checkpoint | {"max_length"}

    def predict_options(self, checkpoint: Path, test: Path) -> str:
        return f"--history {typed_history(checkpoint, BETWEEN, (f' {AT} 0', f' {AT} 3600'))}"

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(ENCODINGS)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(variant)
        run = next_event_run(NextEventSettings(), "own", variant, seed=0, recipe="own", commit="")
        return preset_of(run, of_run=())

    def tiny(self, preset: Preset) -> Preset:
        small = {"hidden_size": TINY_SIZE, "word_dim": TINY_SIZE, "time_size": TINY_SIZE} if preset.config else {}
        return replace(preset, config={**preset.config, **small}, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        return own_sequences(request, HISTORIES)
