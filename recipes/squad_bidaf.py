"""BiDAF with positions, self-attention and characters on SQuAD (Patel 2022).

    python recipes/squad_bidaf.py                      SQuAD 2.0 from CTXZOO_DATA or the Hub, the paper's best model
    python recipes/squad_bidaf.py --dataset sample     a generated corpus, no network needed
    python recipes/squad_bidaf.py --variant baseline --seeds 1 2 3
    python recipes/squad_bidaf.py --resume             go on where an interrupted run stopped

Settings are the paper's (those of the CS224N starter where the paper is silent). A YAML file of settings may come
first. docs/models/bidaf.md describes the variants, and the options of --extensions.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import logging
from collections.abc import Sequence

import torch

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.question_answering.experiments import build_paper_experiment, describe_differences
from ctxzoo.tasks.question_answering.problem import QUESTION_ANSWERING
from ctxzoo.training.trainer import LAST

BASE = build_paper_experiment().copy_with(recipe="squad_bidaf", dataset="rajpurkar/squad_v2", threads=None)


def main(experiment: Experiment, seeds: Sequence[int] = (224,)) -> None:
    """Train and score BiDAF, a question-answering model, on SQuAD with every seed.

    Args:
        experiment: Experiment with the settings of the training; without a tag, files are named by what differs from
            the paper.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.WARNING)
    if experiment.run.threads is not None:
        torch.set_num_threads(experiment.run.threads)
    QUESTION_ANSWERING.check(experiment)
    experiment = QUESTION_ANSWERING.fill_in_settings(experiment)
    experiment = experiment.copy_with(tag=experiment.tag or describe_differences(experiment))
    for seed in seeds:
        run = ExperimentRun(QUESTION_ANSWERING, experiment.copy_with(seed=seed))
        resume = experiment.run.resume
        if resume and not (run.folder / "lightning" / LAST).exists():
            print(f"nothing to resume in {run.folder}; starting from the first step")
        execute(run, resume=resume)


STUDY = Study(main, QUESTION_ANSWERING, BASE, {})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
