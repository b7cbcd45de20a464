"""`ctxzoo train session-recommendation`: what it trains on which sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.files import content_hash
from ctxzoo.data.own_splits import OwnRows, group_numbers
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, Loaded, TrainingRequest, gathered
from ctxzoo.tasks.session_recommendation.card import CARD
from ctxzoo.tasks.session_recommendation.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.session_recommendation.reader import check_sessions, load_sessions
from ctxzoo.tasks.session_recommendation.run import TINY_SIZE, VARIANTS, SessionRun, SessionSettings, session_run
from ctxzoo.tasks.session_recommendation.sample import ITEMS


class SessionTraining(ZooTraining):
    """What `ctxzoo train` does for session recommendation."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = SessionRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "recall_at_20"
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
        given = {name.removesuffix("_column"): value for name, value in request.columns.items() if value is not None}
        columns = EventColumns(**given)

        def load(source: str) -> Loaded:
            splits = load_sessions(source, request.data_dir, columns)
            return splits, dict.fromkeys(splits, source)

        splits, _ = gathered(request, load)
        checked = check_sessions(splits, origin=request.data).splits
        keys = {name: [content_hash(items) for items in split[ITEMS]] for name, split in checked.items()}
        return OwnRows(splits=checked, groups=group_numbers(keys), unit="sessions", together="equal sessions")
