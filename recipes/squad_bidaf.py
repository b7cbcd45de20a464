"""BiDAF with positions, self-attention and characters on SQuAD (Patel 2022).

    python recipes/squad_bidaf.py                      SQuAD 2.0 from CTXZOO_DATA or the Hub, the paper's best model
    python recipes/squad_bidaf.py --dataset sample     a generated corpus, no network needed
    python recipes/squad_bidaf.py --variant baseline --seeds 1 2 3
    python recipes/squad_bidaf.py --resume             go on where an interrupted run stopped

Settings are the paper's (those of the CS224N starter where the paper is silent). A YAML file of settings may come
first. docs/models/bidaf.md describes the variants, and the options of --levers.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import logging

import torch

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import execute
from ctxzoo.tasks.question_answering.bidaf_start import choose_bidaf
from ctxzoo.tasks.question_answering.bidaf_training import BidafSettings as Settings
from ctxzoo.tasks.question_answering.bidaf_training import check_data, data_arguments, reader_run
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.training.trainer import LAST

RECIPE = "squad_bidaf"


def main(settings: Settings) -> None:
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.WARNING)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    choice = choose_bidaf(
        settings.variant,
        settings.levers,
        settings.query_to_context,
        init_from=settings.init_from,
        word_vectors=settings.word_vectors,
    )
    data = SquadDataModule(**data_arguments(settings, choice, settings.seeds[0]))
    data.prepare_data()
    data.setup()
    check_data(settings, choice, data)
    for seed in settings.seeds:
        run = reader_run(settings, choice, data, seed, recipe=RECIPE, commit=git_commit())
        if settings.resume and not (run.spec.folder / "lightning" / LAST).exists():
            print(f"nothing to resume in {run.spec.folder}; starting from the first step")
        execute(run, resume=settings.resume)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
