"""Baselines of vote prediction: how often bills and parties have a yea, and TF-IDF of texts for each party.

    python recipes/roll_call_floors.py                          all four, on votes drawn one by one and on new bills
    python recipes/roll_call_floors.py --dataset sample         no network needed
    python recipes/roll_call_floors.py --score validation       test is left alone
    python recipes/roll_call_floors.py --resume                 what is finished is kept

A model of ideal points is to be above the rate of a bill and party; one that reads texts of new bills above TF-IDF.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.counted import COUNTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.vote_prediction.baselines import BASELINES, BaselineRun
from ctxzoo.tasks.vote_prediction.experiments import PROBLEM, VOTE_DATASETS, VoteData, get_dataset_arguments
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION

BASE = Experiment(problem=PROBLEM, recipe="roll_call_floors", data=VoteData(), model=COUNTS)
DATASETS = tuple(name for name in VOTE_DATASETS if name != "sample")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = DATASETS,
    models: Sequence[str] = tuple(BASELINES),
    seeds: Sequence[int] = (0,),
) -> None:
    """Count and score every baseline of vote prediction on every dataset, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: roll_call, roll_call_new_bills, sample; or any other Hub id, folder or file.
        models: Names of the count-based baseline models to fit.
        seeds: Numbers that name the results files as seeds; nothing is random, so that all runs are equal.
    """
    configuration = experiment.data.values()["configuration"]
    rows = [
        (f"{name}, {model}", experiment.copy_with(**get_dataset_arguments(name, configuration), variant=model))
        for name in dataset
        for model in models
    ]
    title = f"vote prediction: {experiment.score} accuracy (%) and log-likelihood of a vote"
    run_rows(partial(BaselineRun, VOTE_PREDICTION), rows, seeds, title)


STUDY = Study(main, VOTE_PREDICTION, BASE, choices={"models": BASELINES}, options=BaselineRun.reads)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
