"""HCRNN on CiteULike as its authors split it: which article comes next in what a person collects.

    python recipes/citeulike_hcrnn.py                                    all four models
    python recipes/citeulike_hcrnn.py --models hcrnn3_bi --seeds 10 20   the strongest, twice
    python recipes/citeulike_hcrnn.py --dataset movielens_1m movielens_100k
    python recipes/citeulike_hcrnn.py --dataset sample --tiny            no network needed
    python recipes/citeulike_hcrnn.py --score validation                 to choose settings: test is left alone
    python recipes/citeulike_hcrnn.py --resume                           finished runs are kept, the others go on

Datasets: citeulike, movielens_1m and lastfm (of these two only a part of the authors' sessions is available, so that
published numbers do not compare), movielens_100k, sample; or any Hub id or folder with splits of its own (`ctxzoo
train` divides a single file of events). Models: hcrnn1, hcrnn2 and hcrnn3 with attention over states, hcrnn3_bi with
both channels. The settings are the authors', but for the batches: whole sessions, every position of which is trained at
once. --name tells runs with other settings from them. A YAML file of settings may come first.
recipes/session_baselines.py has other models, recipes/session_floors.py the baselines that count.
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

MODELS = tuple(SESSION_VARIANTS["hcrnn"])
BASE = build_session_paper_experiment("hcrnn", "hcrnn3_bi").copy_with(recipe="citeulike_hcrnn")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("citeulike",),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score HCRNN's variants on every dataset of sessions with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: citeulike, movielens_1m, lastfm, movielens_100k, sample; or any other Hub id, folder
            or file.
        models: Names of models: hcrnn1, hcrnn2, hcrnn3, hcrnn3_bi.
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
