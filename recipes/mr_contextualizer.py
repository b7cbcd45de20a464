"""Contextualizer on MR: Tables 2 and 3 of Maupomé and Meurs (2021), by cross-validation.

    python recipes/mr_contextualizer.py --table 2      recurrent and regular steps, K = 1, 5, 10, 20
    python recipes/mr_contextualizer.py --table 3      three kinds of first contexts, K = 1 and 5
    python recipes/mr_contextualizer.py --table 3 --dataset sample --epochs 3      no network needed
    python recipes/mr_contextualizer.py --table 2 --resume      finished folds are kept, the others go on
    python recipes/mr_contextualizer.py --table 3 --rows random --steps 1 --learning_rate 1e-4 --name rate1e-4

Settings are the paper's, or those of docs/models/contextualizer.md where it is silent; --name tells runs with
other settings from them. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxzoo.results.environment import git_commit
from ctxzoo.results.figures import draw_if_possible
from ctxzoo.results.plots import plot_scores_by
from ctxzoo.runs.many import Outcomes
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, cross_validate
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS

RECIPE, ARCHITECTURE = "mr_contextualizer", "contextualizer"
# Each table has rows, by name the variant and what the config changes in it, and as columns the numbers of steps.
TABLES: dict[int, tuple[dict[str, tuple[str, dict[str, Any]]], tuple[int, ...]]] = {
    2: ({"recurrent": ("recurrent", {}), "regular": ("regular", {"recurrent": False})}, (1, 5, 10, 20)),
    3: (
        {
            "ones": ("ones", {"initial_context": "ones"}),
            "learned": ("learned_start", {"initial_context": "learned"}),
            "random": ("recurrent", {}),
        },
        (1, 5),
    ),
}


@dataclass
class Settings(CrossValidationSettings):
    dataset: str = field(default=SENTENCE_DATASETS["MR"], metadata={"help": "Hub id, folder, file, or: sample"})
    table: int = field(default=2, metadata={"help": "2 or 3"})
    steps: list[int] = field(default_factory=list, metadata={"help": "numbers of steps K; default: the table's"})
    rows: list[str] = field(default_factory=list, metadata={"help": "rows of the table; default: all"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the paper"})


def main(settings: Settings) -> None:
    if settings.table not in TABLES:
        raise ValueError(f"table={settings.table}: expected one of {', '.join(map(str, TABLES))}")
    rows, steps = TABLES[settings.table]
    for name in settings.rows:
        if name not in rows:
            raise ValueError(f"rows: table {settings.table} has no row {name!r}, only {', '.join(rows)}")
    chosen = {name: rows[name] for name in settings.rows or rows}
    cells = {
        (name, k): cell_of(name, variant, {**changes, "num_steps": k}, settings)
        for name, (variant, changes) in chosen.items()
        for k in settings.steps or steps
    }
    outcomes = cross_validate(list(cells.values()), settings, recipe=RECIPE, commit=git_commit())
    picture = "-".join(filter(None, (f"accuracy_by_steps_table{settings.table}", settings.name)))
    figure = Path(settings.output_dir) / RECIPE / f"{picture}.png"
    if draw_if_possible(
        lambda: plot_scores_by(
            curves(cells, outcomes), figure, axis="number of steps K", runs="folds", score=f"{settings.score} accuracy"
        )
    ):
        print(f"figure {figure}")


def cell_of(name: str, variant: str, changes: dict[str, Any], settings: Settings) -> Cell:
    # As in training, the paper draws a context for each document at test as well.
    config = {"model_type": f"ctxzoo_{ARCHITECTURE}", "eval_context": "redraw", **changes}
    if settings.tiny:
        config |= {"word_dim": 12, "position_dim": 4, "rank": 8}
    k = changes["num_steps"]
    tag = f"k{k}-{settings.name}" if settings.name else f"k{k}"
    return Cell(name=f"{name}, K = {k}", dataset=settings.dataset, variant=variant, config=config, tag=tag)


def curves(cells: dict[tuple[str, int], Cell], outcomes: Outcomes) -> dict[str, dict[int, list[float]]]:
    """Return the accuracies of the folds, in percent, by row of the table and number of steps K."""
    found: dict[str, dict[int, list[float]]] = {}
    for (name, k), cell in cells.items():
        found.setdefault(name, {})[k] = [result.metrics[f"{result.split}/accuracy"] for result in outcomes[cell.name]]
    return found


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
