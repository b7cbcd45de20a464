"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for regression."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    check_input,
    device_of,
    how_to_score,
    positive,
    say_written,
)

TARGET_COLUMN = Option("target_column", "of a file: what is predicted, from the others; default: y, else the last")
GROUP_COLUMN = Option("group_column", "rows of one value of it stay together, those of a person say; no feature")
CONFIG_NAME = Option("config_name", "of a dataset with several, such as airline; default: the one it names")
BETWEEN = ","  # the numbers of a row, names of columns


def column_names(text: str) -> list[str]:
    """Return the names of columns as they are typed.

    Raises:
        ArgumentTypeError: one is empty.
    """
    names = [part.strip() for part in text.split(BETWEEN)]
    if not all(names):
        raise argparse.ArgumentTypeError(f'{text!r}: expected names with "{BETWEEN}" between them')
    return names


FEATURE_COLUMNS = Option("feature_columns", f'names with "{BETWEEN}" between them; default: all others', column_names)
COLUMNS = (TARGET_COLUMN, FEATURE_COLUMNS, GROUP_COLUMN, CONFIG_NAME)


class RegressionCommands(TaskCommands):
    title = "regression"
    train_options = (*COLUMNS, Option("hidden_size", "numbers of a step", positive))
    evaluate_options = (
        TARGET_COLUMN,
        GROUP_COLUMN,
        CONFIG_NAME,
        Option("split_number", "which random split of all rows, from 0; default: the dataset's own", int),
    )
    predict_options = (Option("numbers", f'the features of one row, with "{BETWEEN}" between them'),)

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.regression.training import RegressionTraining

        columns = tuple(option.name for option in COLUMNS)
        train_own_data(RegressionTraining(), request_of(options, own, columns=columns))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.regression.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "numbers", own["numbers"])
        row = None if own["numbers"] is None else parsed_row(own["numbers"])

        from ctxzoo.tasks.regression.prediction import NumberAnswers, predict_rows

        model, _ = options.saved.load()
        model.to(device_of(options))
        if row is not None:
            print(f"{predict_rows(model, [row])[0]:.6g}")
            return
        number = answer_file(options, NumberAnswers(model), columns=model.config.feature_names)
        say_written(options, count_of(number, "rows"))


def parsed_row(text: str) -> list[float]:
    """Return the numbers of a row as it is typed.

    Raises:
        ValueError: something that is no number.
    """
    try:
        return [float(part) for part in text.split(BETWEEN)]
    except ValueError as error:
        raise ValueError(f'--numbers is {text!r}; expected numbers with "{BETWEEN}" between them') from error


COMMANDS = RegressionCommands()
