"""Baselines of language modelling: how often words occur, alone or behind the one to four words before them.

    python recipes/ptb_floors.py                          all three, on the Penn Treebank
    python recipes/ptb_floors.py --dataset sample         no network needed
    python recipes/ptb_floors.py --score validation       test is left alone
    python recipes/ptb_floors.py --resume                 what is finished is kept

unigram, bigram and kneser_ney_5 are modified Kneser-Ney models of one, two and five words.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.counted import COUNTS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.language_modelling.baselines import BASELINES, BaselineRun
from ctxzoo.tasks.language_modelling.experiments import PROBLEM, TEXT_DATASETS, LineData
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING

BASE = Experiment(problem=PROBLEM, recipe="ptb_floors", data=LineData(dataset="ptb", min_word_count=1), model=COUNTS)


def main(experiment: Experiment, models: Sequence[str] = tuple(BASELINES), seeds: Sequence[int] = (0,)) -> None:
    """Count and score every n-gram baseline of language modelling, and print a table.

    Args:
        experiment: Experiment with the data that all baselines are fitted to; its dataset is ptb, sample, or any other.
        models: Names of the count-based baseline models to fit.
        seeds: Numbers that name the results files as seeds; nothing is random, so that all runs are equal.
    """
    name = experiment.data.dataset
    one = experiment.copy_with(dataset=TEXT_DATASETS.get(name, name))
    rows = [(f"{name}, {model}", one.copy_with(variant=model)) for model in models]
    title = f"language modelling: {experiment.score} perplexity and nats of a token"
    run_rows(partial(BaselineRun, LANGUAGE_MODELLING), rows, seeds, title)


STUDY = Study(main, LANGUAGE_MODELLING, BASE, choices={"models": BASELINES}, options=BaselineRun.reads)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
