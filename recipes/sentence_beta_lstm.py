"""The bivariate Beta-LSTM and the cells beside it on MR, CR, SUBJ and MPQA: the words and folds of the other models.

    python recipes/sentence_beta_lstm.py                               five cells, four datasets
    python recipes/sentence_beta_lstm.py --cells bibeta5 kumaraswamy --datasets SetFit/CR
    python recipes/sentence_beta_lstm.py --datasets sample --tiny      no network needed
    python recipes/sentence_beta_lstm.py --score validation            to choose settings: test is left alone
    python recipes/sentence_beta_lstm.py --resume                      finished folds are kept, the others go on

The vector of a sentence is the state at its last word. Words, folds and training are those of
recipes/sentence_text_baseline.py; --hidden_size is that of the lstm, and the units of every other cell are so many that
its layers have about as many weights. --name tells runs with other settings from the default ones. A YAML file of
settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS, build_sentence_experiment
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION, cross_validate

KNOWN = tuple(BetaLstmConfig.variants)
REFERENCE = "lstm"  # whose size is given
BASE = build_sentence_experiment(
    "beta_lstm",
    REFERENCE,
    **{"hidden_size": 100, "num_layers": 1, "bidirectional": False, "word_dim": 250, "position_dim": 20},
    **{"freeze_embeddings": False, "embedding_bound": 1.0},
    **{"dropout": 0.0, "locked_dropout": 0.0, "weight_dropout": 0.0},
).copy_with(recipe="sentence_beta_lstm")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = tuple(SENTENCE_DATASETS.values()),
    cells: Sequence[str] = ("lstm", "coupled", "g2", "beta", "bibeta5"),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score sentence classifiers with every recurrent cell on every fold and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all trainings share; its hidden_size is that of the plain LSTM.
        datasets: Datasets to train on: Hub ids, folders or files, or sample.
        cells: Names of LSTM cells, variants that `ctxzoo info beta_lstm` lists.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
    """
    rows = [
        (f"{Path(name).name}, {cell}", set_cell(experiment.copy_with(dataset=name), cell))
        for name in datasets
        for cell in cells
    ]
    cross_validate(rows, seeds)


def set_cell(experiment: Experiment, cell: str) -> Experiment:
    """Return the experiment with a recurrent cell, with as many units as give its layers the weights of the LSTM."""
    model: Any = experiment.model
    sizes = {"input_size": model.word_dim + model.position_dim, "num_layers": model.num_layers}
    return experiment.copy_with(variant=cell, hidden_size=find_matching_num_units(cell, model.hidden_size, **sizes))


def find_matching_num_units(cell: str, reference: int, *, input_size: int, num_layers: int) -> int:
    """Return the number of units with which a cell's layers have about as many weights as an LSTM's.

    Args:
        cell: Name of an LSTM cell, a key of `KNOWN`.
        reference: Units in each layer of the plain LSTM, whose number of weights is matched.
        input_size: Dimension of the first layer's input, the word embeddings.
        num_layers: Number of layers of both models.

    Returns:
        The units of the nearest number of weights; of two that are as near the fewer.
    """
    sizes = {"input_size": input_size, "num_layers": num_layers}
    target = count_weights(REFERENCE, reference, **sizes)
    units = 1
    while count_weights(cell, units + 1, **sizes) <= target:
        units += 1
    return min(units, units + 1, key=lambda size: abs(count_weights(cell, size, **sizes) - target))


def count_weights(cell: str, units: int, *, input_size: int, num_layers: int) -> int:
    """Return the number of weights in one direction of a `BetaLSTM`'s layers."""
    rows = (CELLS[cell].blocks + 2) * units
    return rows * (input_size + units + 1) + (num_layers - 1) * rows * (2 * units + 1)


SHORT = {"dataset": "datasets", "variant": "cells", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"cells": KNOWN})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
