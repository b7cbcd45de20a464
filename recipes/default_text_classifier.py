"""The default settings of `ctxzoo train text-classification` on seven public sets, with the controls.

    python recipes/default_text_classifier.py                          seven sets, three ways
    python recipes/default_text_classifier.py --datasets sample --parts both --tiny       no network needed
    python recipes/default_text_classifier.py --datasets CR --score validation --deep_scale 0.5 --name half
    python recipes/default_text_classifier.py --resume                 finished runs are kept, the others go on

Sets: MR, CR, SUBJ, MPQA (cross-validated), reuters8, imdb, news_aggregator (their own test split), or any Hub id,
folder or file, which is cross-validated. Parts: "vectors", what a user gets; "both", the same without given word
vectors; "wide", the linear classifier alone from which that starts; "deep", the network alone. The settings
are those of ctxzoo/tasks/text_classification/experiments.py; a YAML file of options may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from typing import Any

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import (
    ARCHITECTURE,
    DOCUMENT_DATASETS,
    SENTENCE_DATASETS,
    VARIANT,
    VECTOR_WORDS,
    WORD_VECTORS,
    build_default_experiment,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION

OWN_SPLITS = ("reuters8", "imdb", "news_aggregator")
PARTS = ("vectors", "both", "wide", "deep")
NO_VECTORS: dict[str, Any] = {"word_vectors": None, "vector_words": 0}
BASE = build_default_experiment(ARCHITECTURE, VARIANT).copy_with(
    recipe="default_text_classifier", folds=5, **NO_VECTORS
)


def main(
    experiment: Experiment,
    datasets: Sequence[str] = (*SENTENCE_DATASETS, *OWN_SPLITS),
    parts: Sequence[str] = PARTS,
    seeds: Sequence[int] = (0,),
    deep_scale: float | None = None,
) -> None:
    """Train and score the default text classifier, whole or in parts, on every dataset and seed; print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Names of datasets, such as MR, CR, reuters8 or imdb, or any other Hub id, folder or file.
        parts: Parts of the classifier to train: vectors (both, and given word vectors), both, wide (linear), deep
            (network).
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
        deep_scale: Factor of the network's logits when they are added to those of the linear part; null: that of the
            default settings.
    """
    scale = {} if deep_scale is None else {"deep_scale": deep_scale}
    runs = {}
    for name in datasets:
        folds = [None] if name in OWN_SPLITS else range(experiment.data.values()["folds"])
        for part in parts:
            one = set_control_part(set_dataset(experiment, name), part).copy_with(**scale)
            runs[f"{name}, {part}"] = [
                ExperimentRun(TEXT_CLASSIFICATION, one.copy_with(seed=seed, fold=fold))
                for seed in seeds
                for fold in folds
            ]
    run_all(runs, f"default settings: {experiment.score} accuracy, mean ± sd", experiment.run)


def set_dataset(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment with a dataset: one of the public sets, or a Hub id, folder or file.

    One setting for all: how the recipes of papers cut words and hold out validation rows is not taken over.
    """
    known = DOCUMENT_DATASETS.get(name, {"dataset": SENTENCE_DATASETS.get(name, name)})
    column = known.get("text_column")
    return experiment.copy_with(dataset=known["dataset"], text_column=None if column is None else (column,))


def set_control_part(experiment: Experiment, part: str) -> Experiment:
    """Return the experiment with both parts of the default classifier, or with one left out: network or linear part."""
    if part == "wide":  # the network's scores are 0 and stay so
        return experiment.copy_with(row=part, epochs=1, zeroed=("classifier.weight", "classifier.bias"))
    if part == "both":
        return experiment.copy_with(row=part)
    if part == "vectors":
        return experiment.copy_with(row=part, word_vectors=WORD_VECTORS, vector_words=VECTOR_WORDS)
    words: dict[str, Any] = {"ngram_order": 1, "ngram_buckets": 0, "char_ngrams": None, "char_ngram_buckets": 0}
    return experiment.copy_with(row=part, **words, wide=False, wide_dropout=0.0, deep_scale=1.0)


STUDY = Study(main, TEXT_CLASSIFICATION, BASE, {"dataset": "datasets", "variant": "parts"}, {"parts": PARTS})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
