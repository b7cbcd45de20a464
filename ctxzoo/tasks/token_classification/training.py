"""`ctxzoo train token-classification`: what it trains on which sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import datasets

from ctxzoo.data.own_splits import Loaded, OwnRows, OwnSplits
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.token_classification.card import CARD
from ctxzoo.tasks.token_classification.default_settings import ARCHITECTURE, SEARCH_SPACE, default_preset
from ctxzoo.tasks.token_classification.files import TAGS, TOKENS
from ctxzoo.tasks.token_classification.reader import check_tokens, load_tokens, sentence_groups
from ctxzoo.tasks.token_classification.run import TaggerRun, TaggingSettings, tagging_run

TINY = {"word_dim": 8, "recurrent_size": 6, "projection_size": 6, "hidden_size": 10, "inner_size": 8}


class TaggerTraining(ZooTraining):
    """What `ctxzoo train` does for taggers."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = TaggerRun
    default = (ARCHITECTURE, ARCHITECTURE)
    space = SEARCH_SPACE
    objective = "accuracy"
    predicted = '--text "..."'
    called = '"..."'

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(ARCHITECTURES[architecture].config_class.variants) or (architecture,)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(
                architecture, variant, ARCHITECTURES[architecture].config_class.variants.get(variant, {})
            )
        if architecture != ARCHITECTURE:
            raise ValueError(
                f"there are no settings of a paper for {architecture} on tags, only for {ARCHITECTURE}; try "
                "--settings default"
            )
        run = tagging_run(TaggingSettings(), "own", vectors=None, seed=0, recipe="own", commit="", tag_column=TAGS)
        preset = preset_of(run, of_run=())
        data = {name: value for name, value in preset.data.items() if name != "tag_column"}
        return replace(preset, variant=variant, data=data)

    def tiny(self, preset: Preset) -> Preset:
        config = {name: TINY.get(name, value) for name, value in preset.config.items()}
        return replace(preset, config=config, trainer={**preset.trainer, "epochs": 1})

    def columns(self, splits: OwnSplits) -> dict[str, str]:
        return {"tag_column": TAGS}

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        def load(source: str) -> Loaded:
            splits = load_tokens(source, request.data_dir)
            return splits, dict.fromkeys(splits, source)

        splits, _ = gathered(request, load)
        checked = check_tokens(splits, request.columns["tag_column"], origin=request.data)
        tags = datasets.List(datasets.ClassLabel(names=checked.label_names))
        sentences = {
            name: split.select_columns([TOKENS, "labels"]).rename_column("labels", TAGS).cast_column(TAGS, tags)
            for name, split in checked.splits.items()
        }
        return OwnRows(splits=sentences, **vars(sentence_groups(checked)))
