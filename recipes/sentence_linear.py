"""Linear baselines on MR, CR, SUBJ and MPQA, over the folds of the neural models.

    python recipes/sentence_linear.py                          all baselines and the majority class, all four datasets
    python recipes/sentence_linear.py --datasets sample        no network needed
    python recipes/sentence_linear.py --datasets SetFit/CR --models bigram_nbsvm
    python recipes/sentence_linear.py --models fasttext fasttext_autotuned     needs fasttext-wheel
    python recipes/sentence_linear.py --resume                 finished folds are kept

The baselines are those of `ctxzoo.tasks.text_classification.linear`. They are fitted on the whole training
part of a fold, with the tenth of it that neural models hold out to pick their best epoch: no epoch is picked here.
Those called "tuned" choose their C by a cross-validation of that training part. With --score validation the tenth is
scored and not fitted, and the test part is left alone.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from ctxzoo.tasks.text_classification.linear import (
    FASTTEXT,
    LINEAR_BASELINES,
    MAJORITY_CLASS,
    TUNED_LINEAR,
    LinearRun,
    build_linear_experiment,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION

MODELS = (*LINEAR_BASELINES, *TUNED_LINEAR, MAJORITY_CLASS)
BASE = build_linear_experiment("sentence_linear").copy_with(folds=5)


def main(
    experiment: Experiment,
    datasets: Sequence[str] = tuple(SENTENCE_DATASETS.values()),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
) -> None:
    """Fit and score every linear baseline on every fold of every sentence dataset, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Datasets to train on: Hub ids, folders or files, or sample.
        models: Names of the linear models to fit.
        seeds: Seeds of the cross-validation folds and of held-out rows.
    """
    rows = [
        (f"{Path(name).name}, {model}", LinearRun.build_experiment(experiment.copy_with(dataset=name), model))
        for name in datasets
        for model in models
    ]
    folds = experiment.data.values()["folds"]
    title = f"linear baselines: {experiment.score} accuracy over {folds} folds, mean ± sd"
    run_rows(partial(LinearRun, TEXT_CLASSIFICATION), rows, seeds, title, range(folds))


CHOICES = {"models": (*MODELS, *FASTTEXT)}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, choices=CHOICES, options=(*LinearRun.reads, *LinearRun.columns))

if __name__ == "__main__":
    run_study(STUDY, __doc__)
