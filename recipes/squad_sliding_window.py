"""What is read without a network: the words beside which most words of a question stand (Richardson et al. 2013).

    python recipes/squad_sliding_window.py                              the real questions that BiDAF is trained on here
    python recipes/squad_sliding_window.py --dataset sample             no network needed
    python recipes/squad_sliding_window.py --score validation           test is left alone
    python recipes/squad_sliding_window.py --resume                     what is finished is kept

A reader that is not far above it has learned little beyond which words two texts share. It always answers.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.counted import COUNTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.question_answering.experiments import PROBLEM, QuestionData
from ctxzoo.tasks.question_answering.problem import QUESTION_ANSWERING
from ctxzoo.tasks.question_answering.sliding_window import VARIANT, SlidingWindowRun

DATA = QuestionData(dataset="ctxzoo-data/squad_v1_mini")
BASE = Experiment(problem=PROBLEM, recipe="squad_sliding_window", data=DATA, model=COUNTS).copy_with(variant=VARIANT)


def main(experiment: Experiment, seeds: Sequence[int] = (0,)) -> None:
    """Score the sliding-window baseline of question answering, and print its scores.

    Args:
        experiment: Experiment that names the data: a Hub id, folder or JSON file, or sample.
        seeds: Numbers that name the results files as seeds; the models draw nothing at random.
    """
    rows = [(f"{experiment.data.dataset}, {VARIANT}", experiment)]
    title = f"question answering: {experiment.score} exact match and F1 (%)"
    run_rows(partial(SlidingWindowRun, QUESTION_ANSWERING), rows, seeds, title)


STUDY = Study(main, QUESTION_ANSWERING, BASE, options=SlidingWindowRun.reads)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
