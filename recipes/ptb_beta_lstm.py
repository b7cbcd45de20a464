"""Language models of the Penn Treebank with the bivariate Beta-LSTM and the cells beside it.

    python recipes/ptb_beta_lstm.py                              lstm, coupled, g2, beta and bibeta5
    python recipes/ptb_beta_lstm.py --cells lstm bibeta5 bibeta5_prior --seeds 0 1 2
    python recipes/ptb_beta_lstm.py --dataset sample --tiny      no network needed
    python recipes/ptb_beta_lstm.py --score validation           to choose settings: test is left alone
    python recipes/ptb_beta_lstm.py --resume                     finished runs are kept, the others go on

Datasets: ptb, sample; or any Hub id, folder or file of lines. All cells have as many parameters as the LSTM with two
layers of 200 units: words and softmax have weights of their own, so that the units of a layer are the one size that
differs. Twenty streams of the text are read side by side in windows of 35 words, the recurrent state carried along.
bibeta5_prior is bibeta5 with a prior on its Gamma variables. --name tells runs with other settings from them. A YAML
file of settings may come first. recipes/ptb_floors.py has the baselines that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.language_modelling.experiments import TEXT_DATASETS, build_paper_experiment, set_cell
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING

BASE = build_paper_experiment().copy_with(recipe="ptb_beta_lstm", dataset="ptb")


def main(
    experiment: Experiment,
    cells: Sequence[str] = ("lstm", "coupled", "g2", "beta", "bibeta5"),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score language models with every recurrent cell and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all trainings share; its dataset is ptb, sample, or any other.
        cells: Names of LSTM cells, variants that `ctxzoo info beta_lstm` lists, or bibeta5_prior.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    name = experiment.data.dataset
    experiment = experiment.copy_with(dataset=TEXT_DATASETS.get(name, name))
    rows = [(f"{name}, {cell}", set_cell(experiment, cell)) for cell in cells]
    title = f"language modelling: {experiment.score} perplexity and nats of a token, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, LANGUAGE_MODELLING), rows, seeds, title)


STUDY = Study(main, LANGUAGE_MODELLING, BASE, {"variant": "cells"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
