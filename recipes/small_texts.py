"""Learning curves of the default classifier of texts beside simple models: seven sets, 100 to 1,000 rows of each.

    python recipes/small_texts.py                                    seven sets, three sizes, four models, five draws
    python recipes/small_texts.py --datasets sample --train_rows 20 --seeds 0 --models default --tiny
    python recipes/small_texts.py --seeds 5 6 7 8 9 --resume         finished runs are kept, the others go on

Each draw takes so many rows of the training part (all of them where it has fewer), of which a tenth chooses the epoch,
as `ctxzoo train` divides a file. The test rows are those of the set's validation part: its own test part is not read.
Models: default, what a user gets; no_vectors, the same without given word vectors; linear baselines, and fastText where
its package is installed, as `build_linear_baseline` has them. A YAML file of options may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import (
    ARCHITECTURE,
    DOCUMENT_DATASETS,
    SENTENCE_DATASETS,
    VARIANT,
    build_default_experiment,
)
from ctxzoo.tasks.text_classification.linear import FASTTEXT, TUNED_VECTOR_BASELINE, LinearRun
from ctxzoo.tasks.text_classification.problem import LINEAR, TEXT_CLASSIFICATION

DATASETS = (*SENTENCE_DATASETS, "reuters8", "imdb", "news_aggregator")
DEFAULT, NO_VECTORS = "default", "no_vectors"
MODELS = (DEFAULT, NO_VECTORS, LINEAR, TUNED_VECTOR_BASELINE)
BASE = build_default_experiment(ARCHITECTURE, VARIANT).copy_with(recipe="small_texts", score="test")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = DATASETS,
    train_rows: Sequence[int] = (100, 300, 1000),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = tuple(range(5)),
) -> None:
    """Train and score every model on so many rows of every dataset, drawn by every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Names of datasets, such as MR, CR, reuters8 or imdb, or any other Hub id, folder or file.
        train_rows: Numbers of training rows, a tenth of which is held out for validation.
        models: Models to train: default, no_vectors, or names of linear baselines.
        seeds: Seeds of the drawn rows and of all else.
    """
    runs = {}
    for name in datasets:
        source = DOCUMENT_DATASETS.get(name, {"dataset": SENTENCE_DATASETS.get(name, name)})
        column = source.get("text_column")
        data = experiment.copy_with(dataset=source["dataset"], text_column=None if column is None else (column,))
        for rows in train_rows:
            for model in models:
                runs[f"{name}, {rows}, {model}"] = [
                    build_run(data.copy_with(train_rows=rows, tag=f"rows{rows}", seed=seed), model) for seed in seeds
                ]
    run_all(runs, "accuracy on the validation part of each set, mean ± sd", experiment.run)


def build_run(experiment: Experiment, model: str) -> ExperimentRun | LinearRun:
    """Return the run of a model of `MODELS`, or of another linear baseline, on the data of the experiment."""
    if model == DEFAULT:
        return ExperimentRun(TEXT_CLASSIFICATION, experiment.copy_with(row=model))
    if model == NO_VECTORS:
        values = {"row": model, "word_vectors": None, "vector_words": 0}
        return ExperimentRun(TEXT_CLASSIFICATION, experiment.copy_with(**values))
    as_english = experiment.copy_with(pre_tokenizer="english")
    return LinearRun(TEXT_CLASSIFICATION, LinearRun.build_experiment(as_english, model))


CHOICES = {"models": (*MODELS, *FASTTEXT)}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, {"dataset": "datasets", "variant": "models"}, CHOICES)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
