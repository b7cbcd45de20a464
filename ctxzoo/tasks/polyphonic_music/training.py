"""`ctxzoo train polyphonic-music`: what it trains on which pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ctxzoo.data.own_splits import Loaded, OwnRows
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.polyphonic_music.card import CARD
from ctxzoo.tasks.polyphonic_music.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.polyphonic_music.midi import Grid
from ctxzoo.tasks.polyphonic_music.reader import check_music, load_music, piece_groups
from ctxzoo.tasks.polyphonic_music.run import TINY_SIZE, MusicRun, MusicSettings, music_run


class MusicTraining(ZooTraining):
    """What `ctxzoo train` does for polyphonic music."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = MusicRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "nll"
    lower_is_better = True
    predicted = "--file {test} --row 0 --output continued.mid"

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(BetaLstmConfig.variants)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(variant, BetaLstmConfig.variants[variant])
        preset = preset_of(music_run(MusicSettings(), "own", variant, seed=0, recipe="own", commit=""), of_run=())
        return replace(preset, data={name: value for name, value in preset.data.items() if name != "config_name"})

    def tiny(self, preset: Preset) -> Preset:
        config = {**preset.config, "hidden_size": TINY_SIZE} if preset.config else {}
        return replace(preset, config=config, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        columns = {name: value for name, value in request.columns.items() if value is not None}
        config_name = columns.pop("config_name", None)
        grid = Grid(**columns)

        def load(source: str) -> Loaded:
            splits = load_music(source, request.data_dir, config_name if source == request.data else None, grid=grid)
            return splits, dict.fromkeys(splits, source)

        splits, _ = gathered(request, load)
        checked = check_music(splits, origin=request.data)
        return OwnRows(splits=checked.splits, **vars(piece_groups(checked)))
