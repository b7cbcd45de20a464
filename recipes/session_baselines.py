"""GRU4REC, NARM and STAMP on sessions of items, to compare HCRNN with.

    python recipes/session_baselines.py                                  all three on CiteULike
    python recipes/session_baselines.py --models narm --seeds 10 20      one of them, twice
    python recipes/session_baselines.py --dataset movielens_1m movielens_100k
    python recipes/session_baselines.py --dataset sample --tiny          no network needed
    python recipes/session_baselines.py --score validation               to choose settings: test is left alone
    python recipes/session_baselines.py --resume                         finished runs are kept, the others go on

Datasets and settings are those of recipes/citeulike_hcrnn.py. --sigmoid_scores gives STAMP the scores between 0 and 1
of the HCRNN authors' code; --name tells runs with other settings apart. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.sequences.experiments import SESSION_VARIANTS, build_session_paper_experiment
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION

MODELS = tuple(SESSION_VARIANTS["session_baseline"])
BASE = build_session_paper_experiment("session_baseline", MODELS[0]).copy_with(recipe="session_baselines")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("citeulike",),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score GRU4REC, NARM and STAMP on every dataset of sessions with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: citeulike, movielens_1m, lastfm, movielens_100k, sample; or any other Hub id, folder
            or file.
        models: Names of models, variants that `ctxzoo info session_baseline` lists.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    rows = [
        (f"{name}, {model}", experiment.copy_with(dataset=SESSION_DATASETS.get(name, name), variant=model))
        for name in dataset
        for model in models
    ]
    title = f"session recommendation: {experiment.score} recall@20 and MRR@20 (%), mean ± sd over seeds"
    run_rows(partial(ExperimentRun, SESSION_RECOMMENDATION), rows, seeds, title)


STUDY = Study(main, SESSION_RECOMMENDATION, BASE, {"variant": "models"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
