"""Regression: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    check_input,
    get_scoring_arguments,
    load_model,
    report_written_answers,
)
from ctxzoo.tasks.regression import experiments
from ctxzoo.tasks.regression.experiments import (
    ARCHITECTURE,
    ATTENTIONS,
    BETWEEN,
    NORM,
    PROBLEM,
    PUBLISHED_NORMS,
    SEARCH_SPACE,
    TINY_SIZE,
    VALIDATION,
    RegressionData,
    RegressionModel,
    check_protocol_fits_splits,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.tasks.regression.reader import Numbers, RegressionSplits
    from ctxzoo.training.task import ZooTask

TARGET_COLUMN = Option("target_column", "of a file: what is predicted, from the others; default: y, else the last")
GROUP_COLUMN = Option("group_column", "rows of one value of it stay together, those of a person say; no feature")
CONFIG_NAME = Option("config_name", "of a dataset with several, such as airline; default: the one it names")
NO_FEATURE = "leave it out with --feature_columns"
TIMES = (315_532_800, 4_102_444_800)  # seconds since 1970 that begin 1980 and 2100
UNITS = {"seconds": 1, "milliseconds": 1000}
SHOWN = 20  # names of features in a line


class Regression(Problem, TaskCommands):
    """A number for each row of numbers, from the rows beside it."""

    name, title = PROBLEM, "regression"
    card_at, module_at = "ctxzoo.tasks.regression.card:CARD", "ctxzoo.tasks.regression.task:RegressionTask"
    page_at = "ctxzoo.tasks.regression.page:build_page"
    export_at = "ctxzoo.tasks.regression.export:EXPORT"
    data_args, model_args = RegressionData, RegressionModel
    default = (ARCHITECTURE, "ikan_direct")
    space = SEARCH_SPACE
    objective, lower_is_better = "rmse", True
    evaluate_options = (
        TARGET_COLUMN,
        GROUP_COLUMN,
        CONFIG_NAME,
        Option("split_number", "which random split of all rows, from 0; default: the dataset's own", int),
    )
    predict_options = (
        Option("numbers", f'the features of one row, with "{BETWEEN}" between them', serves=False),
        Option("interval", "percent of such targets that intervals beside the predictions hold, as 90", float),
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each kind of attention."""
        return ATTENTIONS

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a kind of attention."""
        make = experiments.build_paper_experiment if name == "paper" else experiments.build_default_experiment
        return make(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: two epochs of a very small model."""
        new = experiment.start.init_from is None
        sizes = dict.fromkeys(("hidden_size", "inner_size", "num_features"), TINY_SIZE) if new else {}
        return experiment.copy_with(epochs=2, tiny=True, **sizes)

    def check(self, experiment: Experiment) -> None:
        """Raise `ValueError` where settings of the split or of the norm contradict each other."""
        super().check(experiment)
        check_protocol_fits_splits(experiment)
        model: Any = experiment.model
        if model.variant not in PUBLISHED_NORMS and model.p_norm not in (None, NORM):
            raise ValueError(
                f"p_norm={model.p_norm:g}: {model.variant} has none; {', '.join(PUBLISHED_NORMS)} have one"
            )

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's rows of numbers, with the groups that stay in one split."""
        import datasets
        import numpy as np

        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.tasks.regression.reader import check_rows, group_rows, load_rows

        data: Any = experiment.data

        def load(source: str) -> Loaded:
            splits = load_rows(source, experiment.run.data_dir, data.config_name)
            return splits, dict.fromkeys(splits, source)

        splits, _ = load_splits_of_files(data.dataset, files, load)
        checked = check_rows(splits, data.target_column, data.feature_columns, data.group_column, origin=data.dataset)
        names = [*checked.feature_names, checked.target_name]
        _note_features_and_target(data.dataset, checked)
        tables = {
            split: datasets.Dataset.from_dict(
                dict(zip(names, np.column_stack([rows.features, rows.targets]).T.tolist(), strict=True))
            )
            for split, rows in checked.splits.items()
        }
        return OwnRows(splits=tables, **vars(group_rows(checked, data.group_column)))

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the `RegressionDataModule` of an experiment."""
        import pyarrow.parquet as pq

        from ctxzoo.tasks.regression.data import RegressionDataModule

        data: Any = experiment.data
        names = ("config_name", "target_column", "feature_columns", "group_column", "protocol")
        columns = {name: getattr(data, name) for name in names}
        if data.rows:  # which are written, with what is predicted behind the features
            columns = {"target_column": pq.read_schema(Path(experiment.source) / "train.parquet").names[-1]}
        return RegressionDataModule(
            experiment.source,
            data_dir=experiment.run.data_dir,
            **columns,
            split_number=experiment.fold,
            rows_per_step=data.rows_per_step,
            seed=experiment.seed,
        )

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule, whose model keeps scaling and training rows to predict others beside them."""
        import numpy as np
        import torch

        task = super().build_module(experiment, data, processes)
        task.model.config.interval_errors = None  # those of a checkpoint that goes on are of other weights
        task.model.scaling.set_offsets_and_scales(data.scaling.offsets, data.scaling.scales)
        rows = torch.from_numpy(np.ascontiguousarray(data.scale_all_features()[data.row_indices("train")])).float()
        context = task.model.context
        if context is not None and context.rows.shape == rows.shape:
            context.rows.copy_(rows)
        return task

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return the scores of each split by name, after the model got its intervals from validation rows."""
        from ctxzoo.tasks.regression.task import keep_interval_errors, score_interval

        data_args: Any = experiment.data
        if data_args.protocol == VALIDATION:  # else validation rows are those of test
            keep_interval_errors(task.model, data)
        scores = super().score(experiment, task, data, splits)
        return {split: {**values, **score_interval(task.model, data, split)} for split, values in scores.items()}

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield the mean of the target and gradient boosting."""
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.regression.baselines import BOOSTING, TREES, BaselineRun

        mean, trees = (build_baseline_run(BaselineRun, self, experiment, variant) for variant in ("mean", BOOSTING))
        yield Baseline(mean, "the mean of the target", "of the rows of train")
        description = f"{TREES} trees of scikit-learn's HistGradientBoostingRegressor, fitted on train"
        advice = "on these rows take gradient boosting, which also trains in seconds"
        yield Baseline(trees, "gradient boosting", description, advice=advice)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return f"--file {shlex.quote(str(test))} --output predicted.csv"

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.regression.task import evaluate

        problem_options = {name: value for name, value in problem_options.items() if value is not None}
        return evaluate(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `NumberAnswers` to rows, by `predict_options`."""
        from ctxzoo.tasks.regression.prediction import NumberAnswers

        return partial(NumberAnswers, model, options.get("interval"))

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write the predicted target of rows, by the options of `predict` on the command line."""
        check_input(options, "numbers", problem_options["numbers"])
        row = None if problem_options["numbers"] is None else parse_row(problem_options["numbers"])

        from ctxzoo.tasks.regression.prediction import predict_rows

        answers = self.prepare_answers(*load_model(options), problem_options)()
        if row is not None:
            half_width = "" if answers.half_width is None else f" ± {answers.half_width:.6g}"
            print(f"{predict_rows(answers.model, [row])[0]:.6g}{half_width}")
            return
        number = answer_file(options, answers, columns=answers.features)
        report_written_answers(options, format_count(number, "rows"))


def parse_row(text: str) -> list[float]:
    """Parse the numbers of a row that was typed.

    Raises:
        ValueError: something that is no number.
    """
    try:
        return [float(part) for part in text.split(BETWEEN)]
    except ValueError as error:
        raise ValueError(f'--numbers is {text!r}; expected numbers with "{BETWEEN}" between them') from error


def _note_features_and_target(dataset: str, checked: RegressionSplits) -> None:
    """Record notes on the features and the target, and on each feature that may be an identifier."""
    import numpy as np

    from ctxzoo.data.reading_notes import record_note

    names = checked.feature_names
    shown = ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
    record_note(dataset, f"features, {shown}; what is predicted is {checked.target_name!r}", len(names))
    if "train" not in checked.splits:  # which `write_own_splits` refuses
        return
    for name, column in zip(names, checked.splits["train"].features.T, strict=True):
        if np.all(column == np.round(column)) and len(np.unique(column)) == len(column):
            record_note(
                dataset,
                f"values of the feature {name!r} are whole numbers, each another{_advise_on_identifiers(column)}",
                len(column),
            )


def _advise_on_identifiers(column: Numbers) -> str:
    """Return advice on a feature of distinct whole numbers, which may be a row's id or its time."""
    begin, end = float(column.min()), float(column.max())
    for unit, number in UNITS.items():
        if TIMES[0] * number <= begin and end < TIMES[1] * number:
            first, last = (datetime.fromtimestamp(at / number, timezone.utc).date() for at in (begin, end))
            return f", as times in {unit} since 1970 from {first} to {last} are; where it is none, {NO_FEATURE}"
    return f"; where it is an identifier, {NO_FEATURE}"


REGRESSION = Regression()
