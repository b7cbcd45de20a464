"""Cross-validation of classifiers of texts, from the rows of a table to the printed one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import Outcomes, run_rows
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION


def cross_validate(rows: Sequence[tuple[str, Experiment]], seeds: Sequence[int]) -> Outcomes:
    """Train every row on every fold with every seed, print the table, and return the results of each row.

    Folds of all rows run side by side; each writes its results file when it is done.

    Args:
        rows: Name of a row in the printed table, and what is trained.
        seeds: Seeds of all that is drawn, the folds among them.

    Raises:
        ValueError: two rows of the same name, or of the same results files.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    first: Any = rows[0][1]
    title = f"{first.recipe}: {first.score} accuracy over {first.data.folds} folds, mean ± sd"
    return run_rows(partial(ExperimentRun, TEXT_CLASSIFICATION), rows, seeds, title, range(first.data.folds))
