"""Linear baselines of documents, on the splits of the neural models.

    python recipes/document_linear.py                          all baselines, all datasets of recipes/document_lama.py
    python recipes/document_linear.py --dataset sample         no network needed
    python recipes/document_linear.py --dataset imdb --models bigram_nblr
    python recipes/document_linear.py --models fasttext fasttext_autotuned     needs fasttext-wheel
    python recipes/document_linear.py --resume                 finished runs are kept

The baselines are those of `ctxzoo.tasks.text_classification.linear`. They are fitted on the training and
the validation documents together. Those called "tuned" choose their C by a cross-validation of these, so that no test
document has a say. Nothing is drawn, so one seed is enough. With --score validation the validation documents are
scored and not fitted, and those of test are left alone.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import DOCUMENT_DATASETS, set_document_dataset
from ctxzoo.tasks.text_classification.linear import (
    DOCUMENT_BASELINES,
    FASTTEXT,
    TUNED_DOCUMENT,
    LinearRun,
    build_linear_experiment,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION

MODELS = (*DOCUMENT_BASELINES, *TUNED_DOCUMENT)
# imdb_blocks differs from imdb in its validation alone, on which the baselines train too.
DATASETS = tuple(name for name in DOCUMENT_DATASETS if name not in ("sample", "imdb_blocks"))
BASE = build_linear_experiment("document_linear")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = DATASETS,
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
) -> None:
    """Fit and score every linear baseline on every document dataset, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets known to recipes/document_lama.py, or any other Hub id, folder or file.
        models: Names of the linear models to fit.
        seeds: Numbers that name the results files as seeds; the models draw nothing at random.
    """
    rows = [
        (f"{name}, {model}", LinearRun.build_experiment(set_document_dataset(experiment, name), model))
        for name in dataset
        for model in models
    ]
    title = f"linear baselines of documents: {experiment.score} accuracy"
    run_rows(partial(LinearRun, TEXT_CLASSIFICATION), rows, seeds, title)


STUDY = Study(
    main, TEXT_CLASSIFICATION, BASE, choices={"models": (*MODELS, *FASTTEXT)}, options=("text_column", "label_column")
)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
