"""The Beta-LSTM on sentences: its table, made from results files, beside other models on the same folds.

A cell of the table is the mean and sample standard deviation over the folds of a cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.results.comparison import difference_cell, is_complete, score_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    changed_settings,
    commands_not_run,
    markdown_table,
    with_commands,
)
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS as DATASETS
from reports.tables_contextualizer import ACCURACY, LINEAR_ROWS, MAJORITY_CLASS_ROW, NEURAL_ROWS, Row

RECIPE = "sentence_beta_lstm"
BASE = "lstm"  # with which the others are compared
COMPARED = (BASE, "coupled", "g2", "beta", "bibeta5")  # that the table needs
BESIDE = (MAJORITY_CLASS_ROW, *LINEAR_ROWS, NEURAL_ROWS[0], NEURAL_ROWS[3])  # of other recipes: linear, mean, BiGRU
HEADINGS = ["model", *DATASETS, "units", "weights, at most"]

Runs = list[RunResult]


def sentences(results: Runs) -> str:
    """Return the test accuracy of the cells, by the name of their settings, and of other models on the same folds."""
    tags = {run.tag for run in results if run.recipe == RECIPE and run.dataset in DATASETS.values()}
    plain = {cell: _by_dataset(results, cell, "") for cell in BetaLstmConfig.variants}
    rows = []
    for tag in sorted(tags | {""}):
        rows += _rows_of_name(results, tag, plain)
    for row in BESIDE:
        runs = [row.runs(results, dataset) for dataset in DATASETS.values()]
        rows.append([row.label, *map(_score, runs), "", _weights(runs)])
    missing = [cell for cell in COMPARED if not all(map(is_complete, plain[cell].values()))]
    commands = [f"python recipes/{RECIPE}.py --cells {' '.join(missing)} --resume"] if missing else []
    return with_commands(markdown_table(HEADINGS, rows), commands_not_run(commands))


def _by_dataset(results: Runs, cell: str, tag: str) -> dict[str, Runs]:
    """Return the folds of one cell by the heading of the dataset; raises as `Row.runs` does."""
    row = Row(cell, RECIPE, cell, tag)
    return {heading: row.runs(results, dataset) for heading, dataset in DATASETS.items()}


def _rows_of_name(results: Runs, tag: str, plain: dict[str, dict[str, Runs]]) -> list[list[str]]:
    """Return the rows of runs with one name: every cell that has some, or should, and its differences to the lstm."""
    found = {cell: _by_dataset(results, cell, tag) for cell in BetaLstmConfig.variants}
    rows, differences = [], []
    for cell, runs in found.items():
        if not any(runs.values()) and (tag or cell not in COMPARED):
            continue
        pairs = {name: (ours[0], plain[cell][name][0]) for name, ours in runs.items() if ours and plain[cell][name]}
        label = f"`{cell}`, {tag}{changed_settings(pairs)}" if tag else f"`{cell}`"
        units = {str(run.settings["hidden_size"]) for folds in runs.values() for run in folds}
        rows.append([label, *map(_score, runs.values()), ", ".join(sorted(units)), _weights(list(runs.values()))])
        if cell != BASE:
            cells = [difference_cell(runs[name], found[BASE][name], ACCURACY) for name in DATASETS]
            differences.append([f"`{cell}` − `{BASE}`{f', {tag}' if tag else ''}", *cells])
    return rows + differences


def _weights(runs: list[Runs]) -> str:
    weights = [run.parameters["trainable"] for folds in runs for run in folds]
    return f"{max(weights):,}" if weights else ""


def _score(runs: Runs) -> str:
    return score_cell(runs, ACCURACY) if runs else NOT_RUN


TABLES: dict[str, Callable[[Runs], str]] = {"beta-lstm-sentences": sentences}
