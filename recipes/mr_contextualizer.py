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

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxzoo.results.figures import draw_if_matplotlib_is_installed
from ctxzoo.results.plots import plot_scores_by
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import Outcomes
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS, build_sentence_experiment
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION, cross_validate

# Each table has rows, by name the variant and what it changes, and as columns the numbers of steps.
TABLES: Mapping[int, tuple[Mapping[str, tuple[str, dict[str, Any]]], tuple[int, ...]]] = {
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
# As in training, the paper draws a context for each document at test as well.
BASE = build_sentence_experiment("contextualizer", "recurrent", eval_context="redraw").copy_with(
    recipe="mr_contextualizer", dataset=SENTENCE_DATASETS["MR"]
)


def main(
    experiment: Experiment,
    table: int = 2,
    steps: Sequence[int] = (),
    rows: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score the cells of a table, print it, and draw accuracy by number of steps.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        table: Number of the paper's table to reproduce: 2 or 3.
        steps: Numbers K of context steps to train; none: those of the table.
        rows: Rows of the paper's table to train; none: all.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
    """
    cells_of_rows, usual_steps = TABLES[table]
    for name in rows:
        if name not in cells_of_rows:
            raise ValueError(f"rows: table {table} has no row {name!r}, only {', '.join(cells_of_rows)}")
    cells = {
        (name, k): set_table_cell(experiment, *cells_of_rows[name], k)
        for name in rows or cells_of_rows
        for k in steps or usual_steps
    }
    outcomes = cross_validate([(_format_row_title(*cell), one) for cell, one in cells.items()], seeds)
    picture = "-".join(filter(None, (f"accuracy_by_steps_table{table}", experiment.tag)))
    figure = Path(experiment.run.output_dir) / experiment.recipe / f"{picture}.png"
    score = f"{experiment.score} accuracy"
    if draw_if_matplotlib_is_installed(
        lambda: plot_scores_by(
            collect_accuracies_by_steps(cells, outcomes), figure, axis="number of steps K", runs="folds", score=score
        )
    ):
        print(f"figure {figure}")


def set_table_cell(experiment: Experiment, variant: str, changes: Mapping[str, Any], k: int) -> Experiment:
    """Return the experiment for one cell of a table of the paper: variant, changed settings and K steps."""
    tag = "-".join(filter(None, (f"k{k}", experiment.tag)))
    return experiment.copy_with(variant=variant, **changes, num_steps=k, tag=tag)


def _format_row_title(name: str, k: int) -> str:
    """Return the title of a cell's row in the printed table: the paper's row and the number of steps K."""
    return f"{name}, K = {k}"


def collect_accuracies_by_steps(
    cells: Iterable[tuple[str, int]], outcomes: Outcomes
) -> dict[str, dict[int, list[float]]]:
    """Return the accuracies of the folds, in percent, by row of the paper's table and number of steps K."""
    accuracies: dict[str, dict[int, list[float]]] = {}
    for name, k in cells:
        scores = [result.metrics[f"{result.split}/accuracy"] for result in outcomes[_format_row_title(name, k)]]
        accuracies.setdefault(name, {})[k] = scores
    return accuracies


SHORT = {"variant": "rows", "num_steps": "steps", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"table": TABLES})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
