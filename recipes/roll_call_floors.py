"""The bars of vote prediction: how often bills and parties have a yea, and TF-IDF of texts for each party.

    python recipes/roll_call_floors.py                          all four, on votes drawn one by one and on new bills
    python recipes/roll_call_floors.py --dataset sample         no network needed
    python recipes/roll_call_floors.py --score validation       test is left alone
    python recipes/roll_call_floors.py --resume                 what is finished is kept

A model of ideal points is to be above the rate of a bill and party; one that reads texts of new bills above TF-IDF.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.vote_prediction.baselines import FLOORS, FloorRun
from ctxzoo.tasks.vote_prediction.experiments import VOTE_DATASETS, vote_dataset

RECIPE = "roll_call_floors"


@dataclass
class Settings(RunSettings):
    dataset: list[str] = field(
        default_factory=lambda: [name for name in VOTE_DATASETS if name != "sample"],
        metadata={"help": f"of {', '.join(VOTE_DATASETS)}; or any other"},
    )
    models: list[str] = field(default_factory=lambda: list(FLOORS), metadata={"help": f"of {', '.join(FLOORS)}"})
    # False, as the published results have it.
    cut_outcomes: bool = field(default=False, metadata={"help": "cut out what tells in brackets how a vote ended"})


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in FLOORS:
            raise ValueError(f"models: {model!r} is not one of {', '.join(FLOORS)}")
    commit = git_commit()
    runs = {
        f"{dataset}, {model}": [
            FloorRun(
                recipe=RECIPE,
                variant=model,
                commit=commit,
                seed=seed,
                data={**vote_dataset(dataset), "data_dir": settings.data_dir, "cut_outcomes": settings.cut_outcomes},
                score=settings.score,
                tag=vote_dataset(dataset)["configuration"] or "",
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.models
    }
    run_all(runs, f"vote prediction: {settings.score} accuracy (%) and log-likelihood of a vote", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
