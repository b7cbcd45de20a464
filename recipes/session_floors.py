"""Baselines of session recommendation: what is popular, what the session had, item-kNN, and a Markov chain.

    python recipes/session_floors.py                          all four, on the four sets
    python recipes/session_floors.py --dataset sample         no network needed
    python recipes/session_floors.py --resume                 what is finished is kept

A model that is not above the Markov chain has learned nothing of a session but its last item.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.counted import COUNTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.sequences.baselines import SESSION_BASELINES, CountedSessions
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.sequences.experiments import SESSIONS, SequenceData
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION

BASE = Experiment(problem=SESSIONS, recipe="session_floors", data=SequenceData(), model=COUNTS)
DATASETS = tuple(name for name in SESSION_DATASETS if name != "sample")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = DATASETS,
    models: Sequence[str] = tuple(SESSION_BASELINES),
    seeds: Sequence[int] = (0,),
) -> None:
    """Count and score every session baseline on every dataset, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: citeulike, movielens_1m, lastfm, movielens_100k, sample; or any other Hub id, folder
            or file.
        models: Names of the count-based baseline models to fit.
        seeds: Numbers that name the results files as seeds; nothing is random, so that all runs are equal.
    """
    rows = [
        (f"{name}, {model}", experiment.copy_with(dataset=SESSION_DATASETS.get(name, name), variant=model))
        for name in dataset
        for model in models
    ]
    title = f"session recommendation: {experiment.score} recall@20 and MRR@20 (%)"
    run_rows(partial(CountedSessions, SESSION_RECOMMENDATION), rows, seeds, title)


STUDY = Study(main, SESSION_RECOMMENDATION, BASE, choices={"models": SESSION_BASELINES}, options=CountedSessions.reads)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
