"""Neural baselines beside the Contextualizer: the same words, folds and training, with another way to read a sentence.

    python recipes/sentence_text_baseline.py                           five models, four datasets
    python recipes/sentence_text_baseline.py --models cnn --datasets SetFit/CR
    python recipes/sentence_text_baseline.py --datasets sample --epochs 3        no network needed
    python recipes/sentence_text_baseline.py --resume                  finished folds are kept, the others go on

The models are the named settings of docs/models/text_baseline.md; --name tells runs with other settings from them. A
YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from pathlib import Path

from ctxzoo.models.configuration_text_baseline import SENTENCE_VARIANTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import (
    SENTENCE_DATASETS,
    build_sentence_experiment,
    replace_with_text_baseline,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION, cross_validate

BASE = build_sentence_experiment(
    "text_baseline",
    "mean",
    **{"word_dim": 250, "position_dim": 20, "freeze_embeddings": False, "embedding_bound": 1.0},
    eval_context="redraw",
).copy_with(recipe="sentence_text_baseline")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = tuple(SENTENCE_DATASETS.values()),
    models: Sequence[str] = SENTENCE_VARIANTS,
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score every neural baseline on every fold of every sentence dataset and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Datasets to train on: Hub ids, folders or files, or sample.
        models: Names of models, settings described in docs/models/text_baseline.md.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
    """
    shared = experiment.model.get_config_changes()
    typed = {name: shared.pop(name) for name in ("dropout", "pooled_dropout") if name in shared}
    rows = [
        (
            f"{Path(name).name}, {model}",
            replace_with_text_baseline(experiment.copy_with(dataset=name), model, model, shared, **typed),
        )
        for name in datasets
        for model in models
    ]
    cross_validate(rows, seeds)


SHORT = {"dataset": "datasets", "variant": "models", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"models": SENTENCE_VARIANTS})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
