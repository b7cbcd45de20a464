"""Contextualizer with learned word vectors on MR, CR, SUBJ and MPQA: Table 4 of Maupomé and Meurs (2021), and beyond.

    python recipes/sentence_contextualizer.py                          all four datasets, the paper's settings
    python recipes/sentence_contextualizer.py --datasets sample --epochs 3      no network needed
    python recipes/sentence_contextualizer.py --datasets SetFit/CR --dropout 0.5 --embedding_bound 0.1 --name dropout
    python recipes/sentence_contextualizer.py --resume                 finished folds are kept, the others go on

Settings are the paper's, or those of docs/models/contextualizer.md where it is silent; --name tells runs with other
settings from them. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS, build_sentence_experiment
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION, cross_validate

W = "contextualizer.steps.feature_factors"
BASE = build_sentence_experiment(
    "contextualizer",
    "learned_embeddings",
    **{"num_steps": 5, "recurrent": True, "rank": 100, "word_dim": 250, "position_dim": 20},
    **{"freeze_embeddings": False, "embedding_bound": 1.0, "initial_context": "random", "eval_context": "redraw"},
    **{"eval_context_samples": 1, "concatenate_steps": False, "dropout": 0.0, "word_dropout": 0.0},
).copy_with(recipe="sentence_contextualizer")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = tuple(SENTENCE_DATASETS.values()),
    seeds: Sequence[int] = (0,),
    plain_mean: bool = False,
) -> None:
    """Train and score the Contextualizer on every fold of every sentence dataset and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Datasets to train on: Hub ids, folders or files, or sample.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
        plain_mean: Whether the attention weights W stay 0, so that each context is the plain mean of the words: an
            ablation of attention.
    """
    changes: dict[str, Any] = {"zeroed": (W,)} if plain_mean else {}
    if experiment.model.get_config_changes().get("freeze_embeddings"):
        changes |= {"variant": "recurrent", "row": "frozen_embeddings"}
    one = experiment.copy_with(**changes)
    cross_validate([(Path(name).name, one.copy_with(dataset=name)) for name in datasets], seeds)


STUDY = Study(main, TEXT_CLASSIFICATION, BASE, {"dataset": "datasets", "steps": "num_steps", "vectors": "word_vectors"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
