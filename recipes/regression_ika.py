"""Regression of rows on each other: dot-product attention, an RBF kernel, IKAN, IKA, MIKAN, and Gaussian processes.

    python recipes/regression_ika.py                                    all models on airline, ten splits
    python recipes/regression_ika.py --dataset co2 --models dot mikan
    python recipes/regression_ika.py --splits own                       the dataset's own split
    python recipes/regression_ika.py --protocol best_test               as IKA's code: the best test error of all epochs
    python recipes/regression_ika.py --dataset sample --tiny            no network needed
    python recipes/regression_ika.py --score validation                 to choose settings: test is left alone
    python recipes/regression_ika.py --resume                           finished runs are kept, the others go on

All rows of a dataset are one sequence, and the loss counts the training rows alone. The epoch is chosen on validation
rows, a tenth of all, that are cut from the training rows. --name tells runs with other settings apart. A YAML file of
settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.run import Run
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.regression.baselines import BASELINES, BaselineRun
from ctxzoo.tasks.regression.experiments import ATTENTIONS, build_paper_experiment, set_attention, set_dataset
from ctxzoo.tasks.regression.problem import REGRESSION

OWN = "own"
MODELS = (*BASELINES, *ATTENTIONS)
BASE = build_paper_experiment().copy_with(recipe="regression_ika", p_norm=None)


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("airline",),
    models: Sequence[str] = MODELS,
    splits: Sequence[str] = tuple(map(str, range(10))),
    seeds: Sequence[int] = (0,),
) -> None:
    """Fit and score every regression model on every split of every dataset with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: airline, co2, concrete, parkinsons, sample; or any other Hub id, folder or file.
        models: Names of models: mean, ridge, gp_rbf, gp_sm, dot, rbf, ikan_direct, ika, mikan.
        splits: Numbers of random splits, from 0; own: the dataset's own split.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    for split in splits:
        if split != OWN and not split.isdecimal():
            raise ValueError(f"splits: {split!r} is neither a number from 0 nor {OWN}")
    folds = [None if split == OWN else int(split) for split in splits]
    rows = [
        (f"{name}, {model}", set_model(set_dataset(experiment, name), model, name))
        for name in dataset
        for model in models
    ]
    run_rows(
        build_run, rows, seeds, f"regression: {experiment.score} RMSE and R2, mean ± sd over splits and seeds", folds
    )


def set_model(experiment: Experiment, model: str, dataset: str) -> Experiment:
    """Return the experiment with one of `MODELS` on a dataset, with the model's settings there."""
    if model in BASELINES:
        return BaselineRun.build_experiment(experiment, model)
    return set_attention(experiment, model, dataset)


def build_run(experiment: Experiment) -> Run:
    """Return the run of an experiment: a baseline that is fitted, or a network that is trained."""
    kind = BaselineRun if experiment.model.variant in BASELINES else ExperimentRun
    return kind(REGRESSION, experiment)


STUDY = Study(main, REGRESSION, BASE, {"variant": "models", "fold": "splits"}, {"models": MODELS})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
