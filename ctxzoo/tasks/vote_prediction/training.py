"""`ctxzoo train vote-prediction`: what it trains on which votes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import datasets

from ctxzoo.data.own_splits import Loaded, OwnRows
from ctxzoo.data.reading_notes import note
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.vote_prediction.card import CARD
from ctxzoo.tasks.vote_prediction.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, check_votes, load_votes, vote_groups
from ctxzoo.tasks.vote_prediction.run import TINY, VARIANTS, VoteRun, VoteSettings, vote_run


class VoteTraining(ZooTraining):
    """What `ctxzoo train` does for vote prediction."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = VoteRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "log_likelihood"
    predicted = '--text "what the bill says"'

    def predict_options(self, checkpoint: Path, test: Path) -> str:
        model: Any = load_saved_model(str(checkpoint))[0]
        if model.reads_new_bills:
            return self.predicted
        return f"--bill {shlex.quote(model.config.names_of_bills()[0])}"

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(VARIANTS[architecture])

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(architecture, variant, VARIANTS[architecture][variant])
        run = vote_run(VoteSettings(cut_outcomes=True), "own", architecture, variant, seed=0, recipe="own", commit="")
        return preset_of(run, of_run=("decay",))

    def tiny(self, preset: Preset) -> Preset:
        small = TINY[preset.architecture] if preset.config else {}
        return replace(preset, config={**preset.config, **small}, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        given = {name.removesuffix("_column"): value for name, value in request.columns.items() if value is not None}
        texts, configuration = given.pop("texts", None), given.pop("configuration", None)
        columns = VoteColumns(**given)

        def load(source: str) -> Loaded:
            tables = load_votes(source, request.data_dir, configuration, columns=columns, texts=texts)
            splits = {name: datasets.Dataset(datasets.table.InMemoryTable(table)) for name, table in tables.items()}
            return splits, dict.fromkeys(splits, source)

        splits, _ = gathered(request, load)
        tables = {name: split.with_format("arrow")[:] for name, split in splits.items()}
        checked = check_votes(tables, origin=request.data)
        splits = {name: datasets.Dataset(datasets.table.InMemoryTable(checked.table(name))) for name in tables}
        note(request.data, "bills without a text", sum(not text for text in checked.texts))
        return OwnRows(splits=splits, **vars(vote_groups(checked)))
