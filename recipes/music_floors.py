"""Baselines of polyphonic music: how often each key sounds, alone or by whether it sounded at the step before.

    python recipes/music_floors.py                          both, on the four sets
    python recipes/music_floors.py --dataset sample         no network needed
    python recipes/music_floors.py --resume                 what is finished is kept

A model that is not below them has learned nothing of harmony.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.counted import COUNTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.polyphonic_music.baselines import BASELINES, BaselineRun
from ctxzoo.tasks.polyphonic_music.experiments import MUSIC_DATASETS, PROBLEM, MusicData, get_dataset_arguments
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC

BASE = Experiment(problem=PROBLEM, recipe="music_floors", data=MusicData(), model=COUNTS)
DATASETS = tuple(name for name in MUSIC_DATASETS if name != "sample")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = DATASETS,
    models: Sequence[str] = BASELINES,
    seeds: Sequence[int] = (0,),
) -> None:
    """Count and score every baseline of music on every dataset, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: jsb_chorales, nottingham, muse_data, piano_midi, sample; or any other Hub id, folder
            or file.
        models: Names of the count-based baseline models to fit.
        seeds: Numbers that name the results files as seeds; nothing is random, so that all runs are equal.
    """
    config_name = experiment.data.values()["config_name"]
    rows = [
        (f"{name}, {model}", experiment.copy_with(**get_dataset_arguments(name, config_name), variant=model))
        for name in dataset
        for model in models
    ]
    title = f"polyphonic music: {experiment.score} nats of a step and frame accuracy"
    run_rows(partial(BaselineRun, POLYPHONIC_MUSIC), rows, seeds, title)


STUDY = Study(main, POLYPHONIC_MUSIC, BASE, choices={"models": BASELINES}, options=BaselineRun.reads)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
