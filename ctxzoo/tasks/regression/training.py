"""`ctxzoo train regression`: what it trains on which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import ClassVar

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from ctxzoo.data.own_splits import Loaded, OwnRows, OwnSplits
from ctxzoo.data.reading_notes import note
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.regression.card import CARD
from ctxzoo.tasks.regression.default_settings import SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.regression.reader import RegressionSplits, check_rows, feature_groups, load_rows
from ctxzoo.tasks.regression.run import (
    ARCHITECTURE,
    ATTENTIONS,
    TINY_SIZE,
    RegressionRun,
    RegressionSettings,
    regression_run,
)

NO_FEATURE = "leave it out with --feature_columns"
TIMES = (315_532_800, 4_102_444_800)  # seconds since 1970 that begin 1980 and 2100
UNITS = {"seconds": 1, "milliseconds": 1000}
SHOWN = 20  # names of features in a line
NOT_FOR_OWN_DATA = ("config_name", "split_number", "protocol", "target_column", "feature_columns", "group_column")


class RegressionTraining(ZooTraining):
    """What `ctxzoo train` does for regression."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = RegressionRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "rmse"
    lower_is_better = True
    predicted = "--file {test} --output predicted.csv"

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(ATTENTIONS)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if settings != PAPER:
            return default_preset(variant)
        run = regression_run(RegressionSettings(), "own", variant, seed=0, recipe="own", commit="")
        preset = preset_of(run, of_run=())
        return replace(preset, data={name: x for name, x in preset.data.items() if name not in NOT_FOR_OWN_DATA})

    def tiny(self, preset: Preset) -> Preset:
        sizes = dict.fromkeys(("hidden_size", "inner_size", "num_features"), TINY_SIZE) if preset.config else {}
        return replace(preset, config={**preset.config, **sizes}, trainer={**preset.trainer, "epochs": 2})

    def columns(self, splits: OwnSplits) -> dict[str, str]:
        return {"target_column": pq.read_schema(splits.folder / "train.parquet").names[-1]}  # where `read` has put it

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        def load(source: str) -> Loaded:
            splits = load_rows(source, request.data_dir, request.columns.get("config_name"))
            return splits, dict.fromkeys(splits, source)

        splits, _ = gathered(request, load)
        columns = request.columns
        checked = check_rows(
            splits,
            columns.get("target_column"),
            columns.get("feature_columns"),
            group_column := columns.get("group_column"),
            origin=request.data,
        )
        names = [*checked.feature_names, checked.target_name]
        _note_columns(request.data, checked)
        tables = {
            split: datasets.Dataset.from_dict(
                dict(zip(names, np.column_stack([rows.features, rows.targets]).T.tolist(), strict=True))
            )
            for split, rows in checked.splits.items()
        }
        return OwnRows(splits=tables, **vars(feature_groups(checked, group_column)))


def _note_columns(where: str, checked: RegressionSplits) -> None:
    """Note what is predicted from what, and each feature that may be an identifier."""
    names = checked.feature_names
    shown = ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
    note(where, f"features, {shown}; what is predicted is {checked.target_name!r}", len(names))
    if "train" not in checked.splits:  # which `write_own_splits` refuses
        return
    for name, column in zip(names, checked.splits["train"].features.T, strict=True):
        if np.all(column == np.round(column)) and len(np.unique(column)) == len(column):
            note(where, f"values of the feature {name!r} are whole numbers, each another{_advice(column)}", len(column))


def _advice(column: npt.NDArray[np.float64]) -> str:
    """Say what to do with whole numbers of which each is another, and which times they would be."""
    begin, end = float(column.min()), float(column.max())
    for unit, number in UNITS.items():
        if TIMES[0] * number <= begin and end < TIMES[1] * number:
            first, last = (datetime.fromtimestamp(at / number, timezone.utc).date() for at in (begin, end))
            return f", as times in {unit} since 1970 from {first} to {last} are; where it is none, {NO_FEATURE}"
    return f"; where it is an identifier, {NO_FEATURE}"
