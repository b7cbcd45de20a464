"""What is read without a network: the words beside which most words of a question stand (Richardson et al. 2013).

    python recipes/squad_sliding_window.py                              the real questions that BiDAF is trained on here
    python recipes/squad_sliding_window.py --dataset sample             no network needed
    python recipes/squad_sliding_window.py --score validation           test is left alone
    python recipes/squad_sliding_window.py --resume                     what is finished is kept

A reader that is not far above it has learned little beyond which words two texts share. It always answers.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.question_answering.sliding_window import VARIANT, SlidingWindowRun

RECIPE = "squad_sliding_window"


@dataclass
class Settings(RunSettings):
    dataset: str = field(default="ctxzoo-data/squad_v1_mini", metadata={"help": "Hub id, folder, JSON file or sample"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{settings.dataset}, {VARIANT}": [
            SlidingWindowRun(
                recipe=RECIPE,
                variant=VARIANT,
                commit=commit,
                seed=seed,
                data={"dataset": settings.dataset, "data_dir": settings.data_dir, "characters": False},
                score=settings.score,
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
        ]
    }
    run_all(runs, f"question answering: {settings.score} exact match and F1 (%)", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
