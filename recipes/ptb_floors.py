"""The bars of language modelling: how often words occur, alone or behind the one to four words before them.

    python recipes/ptb_floors.py                          all three, on the Penn Treebank
    python recipes/ptb_floors.py --dataset sample         no network needed
    python recipes/ptb_floors.py --score validation       test is left alone
    python recipes/ptb_floors.py --resume                 what is finished is kept

unigram, bigram and kneser_ney_5 are modified Kneser-Ney models of one, two and five words.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.language_modelling.baselines import FLOORS, FloorRun
from ctxzoo.tasks.language_modelling.experiments import TEXT_DATASETS

RECIPE = "ptb_floors"


@dataclass
class Settings(RunSettings):
    dataset: str = field(default="ptb", metadata={"help": f"of {', '.join(TEXT_DATASETS)}; or any other"})
    models: list[str] = field(default_factory=lambda: list(FLOORS), metadata={"help": f"of {', '.join(FLOORS)}"})


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in FLOORS:
            raise ValueError(f"models: {model!r} is not one of {', '.join(FLOORS)}")
    commit = git_commit()
    runs = {
        f"{settings.dataset}, {model}": [
            FloorRun(
                recipe=RECIPE,
                variant=model,
                commit=commit,
                seed=seed,
                data={"dataset": TEXT_DATASETS.get(settings.dataset, settings.dataset), "data_dir": settings.data_dir},
                score=settings.score,
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
        ]
        for model in settings.models
    }
    run_all(runs, f"language modelling: {settings.score} perplexity and nats of a token", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
