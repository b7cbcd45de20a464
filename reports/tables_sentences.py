"""A table of models on sentences, made from results files of one recipe, beside other models on the same folds.

A cell of the table is the mean and sample standard deviation over the folds of a cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxzoo.results.comparison import difference_cell, is_complete, score_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    changed_settings,
    commands_not_run,
    markdown_table,
    with_commands,
)
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS as DATASETS
from reports.tables_contextualizer import ACCURACY, LINEAR_ROWS, MAJORITY_CLASS_ROW, NEURAL_ROWS, Row

BESIDE = (MAJORITY_CLASS_ROW, *LINEAR_ROWS, NEURAL_ROWS[0], NEURAL_ROWS[3])  # of other recipes: linear, mean, BiGRU

Runs = list[RunResult]


@dataclass(frozen=True)
class SentenceTable:
    """The test accuracy of the variants that a recipe compares, by the name of their settings.

    Attributes:
        recipe: whose results the rows are.
        option: of the recipe, which names variants.
        known: variants in the order of the rows.
        compared: those that the table needs; the others stand there where they were run.
        base: with which the others are compared.
        size: the setting by which variants have as many weights, and what its column is called.
    """

    recipe: str
    option: str
    known: Sequence[str]
    compared: Sequence[str]
    base: str
    size: tuple[str, str]

    def __call__(self, results: Runs) -> str:
        """Return the table, and the commands of what is not run."""
        tags = {run.tag for run in results if run.recipe == self.recipe and run.dataset in DATASETS.values()}
        plain = {variant: self._by_dataset(results, variant, "") for variant in self.known}
        rows = []
        for tag in sorted(tags | {""}):
            rows += self._rows_of_name(results, tag, plain)
        for row in BESIDE:
            runs = [row.runs(results, dataset) for dataset in DATASETS.values()]
            rows.append([row.label, *map(_score, runs), "", _weights(runs)])
        missing = [variant for variant in self.compared if not all(map(is_complete, plain[variant].values()))]
        command = f"python recipes/{self.recipe}.py --{self.option} {' '.join(missing)} --resume"
        headings = ["model", *DATASETS, self.size[1], "weights, at most"]
        return with_commands(markdown_table(headings, rows), commands_not_run([command] if missing else []))

    def _by_dataset(self, results: Runs, variant: str, tag: str) -> dict[str, Runs]:
        """Return the folds of one variant by the heading of the dataset; raises as `Row.runs` does."""
        row = Row(variant, self.recipe, variant, tag)
        return {heading: row.runs(results, dataset) for heading, dataset in DATASETS.items()}

    def _rows_of_name(self, results: Runs, tag: str, plain: dict[str, dict[str, Runs]]) -> list[list[str]]:
        """Return the rows of runs with one name: variants that have some, or should, and differences to the base."""
        found = {variant: self._by_dataset(results, variant, tag) for variant in self.known}
        rows, differences = [], []
        for variant, runs in found.items():
            if not any(runs.values()) and (tag or variant not in self.compared):
                continue
            pairs = {
                name: (ours[0], plain[variant][name][0]) for name, ours in runs.items() if ours and plain[variant][name]
            }
            label = f"`{variant}`, {tag}{changed_settings(pairs)}" if tag else f"`{variant}`"
            sizes = {str(run.settings[self.size[0]]) for folds in runs.values() for run in folds}
            rows.append([label, *map(_score, runs.values()), ", ".join(sorted(sizes)), _weights(list(runs.values()))])
            if variant != self.base:
                cells = [difference_cell(runs[name], found[self.base][name], ACCURACY) for name in DATASETS]
                differences.append([f"`{variant}` − `{self.base}`{f', {tag}' if tag else ''}", *cells])
        return rows + differences


def _weights(runs: list[Runs]) -> str:
    weights = [run.parameters["trainable"] for folds in runs for run in folds]
    return f"{max(weights):,}" if weights else ""


def _score(runs: Runs) -> str:
    return score_cell(runs, ACCURACY) if runs else NOT_RUN
