"""The README's table: one score of each model on real data, beside the best simple baseline and the best other network.

All scores of a row are of the same test rows. A cell is the mean and sample standard deviation over folds, splits or
seeds, and the best mean of a row is bold. What stands beside a model is chosen by `chosen_by`. The pages of the results
have all rows, and what differences mean. The rows are listed in `tables.yaml`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOT_RUN, format_markdown_table, format_mean_and_deviation, refuse_repeated_runs
from reports.choice import find_best_row
from reports.labels import read_labels
from reports.run_selection import Runs, select_runs

HEADINGS = ("model", "what for", "score", "best simple baseline", "best other network", "paper")


@dataclass(frozen=True)
class Model:
    """What distinguishes the runs of a model on the data of a row from all others.

    Attributes:
        label: Name of the model as the table shows it.
        recipe: Name of the recipe that trained its runs.
        variant: Name of the variant of its runs.
        tag: Tag of its runs in results files; empty: none.
    """

    label: str
    recipe: str
    variant: str
    tag: str = ""


@dataclass(frozen=True)
class System:
    """A row: a model, what it is for, its score, and what stands beside it.

    Attributes:
        page: Path of the documentation page with its score, relative to the README.
        purpose: Phrase that names the problem, the data and the score.
        paper: Authors and year of the paper.
        dataset: Name of the dataset.
        key: Name of the score in results files, such as "test/accuracy".
        ours: Model that the row is about.
        simple: Simple baselines: counts, linear and log-linear models, and others without a hidden layer.
        networks: Other neural networks to compare with.
        lower: Whether a lower score is better.
        decimals: Number of decimal places of the scores.
    """

    page: str
    purpose: str
    paper: str
    dataset: str
    key: str
    ours: Model
    simple: Sequence[Model]
    networks: Sequence[Model]
    lower: bool = False
    decimals: int = 2

    def write_row(self, results: Sequence[RunResult]) -> list[str]:
        """Return the cells of the row: the model's score beside those of the best baseline and network."""
        cells: list[tuple[str, Runs]] = []
        for models in ([self.ours], self.simple, self.networks):
            rows = {model: runs for model in models if (runs := self._select_model_runs(results, model))}
            best = find_best_row(rows, self.key, lower=self.lower) if rows else None
            cells.append((best.label, rows[best]) if best else ("", []))
        means = [statistics.fmean(run.metrics[self.key] for run in runs) for _, runs in cells if runs]
        strongest = (min if self.lower else max)(means, default=None)
        beside = []
        for label, runs in cells:
            scores = [run.metrics[self.key] for run in runs]
            score = format_mean_and_deviation(scores, self.decimals)
            beside.append((label, f"**{score}**" if scores and statistics.fmean(scores) == strongest else score))
        (_, ours), *compared = beside
        return [
            *(f"[{self.ours.label}]({self.page})", self.purpose, ours if cells[0][1] else NOT_RUN),
            *(f"{label} {score}".lstrip() for label, score in compared),
            self.paper,
        ]

    def _select_model_runs(self, results: Sequence[RunResult], model: Model) -> Runs:
        """Return the runs of a model on the row's data that have the row's score."""
        where = {"recipe": model.recipe, "variant": model.variant, "dataset": self.dataset, "tag": model.tag}
        runs = [run for run in select_runs(results, where) if self.key in run.metrics]
        refuse_repeated_runs(runs)
        return runs


def _read_models(groups: Mapping[str, Mapping[str, str]]) -> list[Model]:
    """Return the models that `tables.yaml` lists, with labels by "RECIPE TAG" and variant."""
    return [
        Model(label, place.partition(" ")[0], variant, place.partition(" ")[2])
        for place, labels in groups.items()
        for variant, label in labels.items()
    ]


def read_systems() -> list[System]:
    """Return the rows of the README's table of models, as `tables.yaml` lists them."""
    systems = []
    for row in read_labels("overview")["systems"]:
        (model,), simple, networks = (_read_models(row[kind]) for kind in ("ours", "simple", "networks"))
        dataset, key = row["data"]
        others = {name: row[name] for name in ("page", "purpose", "paper", "lower", "decimals") if name in row}
        systems.append(System(dataset=dataset, key=key, ours=model, simple=simple, networks=networks, **others))
    return systems


SYSTEMS = read_systems()


def make_overview_table(results: Sequence[RunResult]) -> str:
    """Return the README's table in Markdown: each model's score beside the best baseline and other network."""
    return format_markdown_table(HEADINGS, [system.write_row(results) for system in SYSTEMS], left_aligned=2)


TABLES: dict[str, Callable[[Runs], str]] = {"overview": make_overview_table}
