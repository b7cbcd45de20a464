"""Polyphonic music with the bivariate Beta-LSTM and the cells beside it, on the four sets that papers use.

    python recipes/music_beta_lstm.py                              every cell on the chorales
    python recipes/music_beta_lstm.py --dataset nottingham piano_midi --cells lstm bibeta5 bibeta5_prior
    python recipes/music_beta_lstm.py --seeds 0 1 2 --patience 20
    python recipes/music_beta_lstm.py --dataset sample --tiny      no network needed
    python recipes/music_beta_lstm.py --score validation           to choose settings: test is left alone
    python recipes/music_beta_lstm.py --resume                     finished runs are kept, the others go on

Datasets: jsb_chorales, nottingham, muse_data, piano_midi, sample; or any Hub id, folder or file of music. The settings
are the authors', with sizes by which all cells have about as many parameters; bibeta5_prior is bibeta5 with their
prior, whose weight is 1 on the chorales and 0.001 elsewhere. --name tells runs with other settings from them. A YAML
file of settings may come first. recipes/music_floors.py has the baselines that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, build_paper_experiment, set_dataset_and_cell
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC

BASE = build_paper_experiment().copy_with(recipe="music_beta_lstm")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("jsb_chorales",),
    cells: Sequence[str] = tuple(CELLS),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score models of music with every recurrent cell on every dataset and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: jsb_chorales, nottingham, muse_data, piano_midi, sample; or any other Hub id, folder
            or file.
        cells: Names of LSTM cells, variants that `ctxzoo info beta_lstm` lists, or bibeta5_prior.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    rows = [(f"{name}, {cell}", set_dataset_and_cell(experiment, name, cell)) for name in dataset for cell in cells]
    title = f"polyphonic music: {experiment.score} nats of a step and frame accuracy, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, POLYPHONIC_MUSIC), rows, seeds, title)


STUDY = Study(main, POLYPHONIC_MUSIC, BASE, {"variant": "cells"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
