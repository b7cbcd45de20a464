"""The bars of session recommendation: what is popular, what the session had, item-kNN, and a Markov chain.

    python recipes/session_floors.py                          all four, on the four sets
    python recipes/session_floors.py --dataset sample         no network needed
    python recipes/session_floors.py --resume                 what is finished is kept

A model that is not above the Markov chain has learned nothing of a session but its last item.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.sequences.baselines import SESSION_BASELINES, CountedSessions
from ctxzoo.tasks.sequences.data import MAX_LENGTH, SESSION_DATASETS

RECIPE = "session_floors"


@dataclass
class Settings(RunSettings):
    dataset: list[str] = field(
        default_factory=lambda: [name for name in SESSION_DATASETS if name != "sample"],
        metadata={"help": f"of {', '.join(SESSION_DATASETS)}; or any other"},
    )
    models: list[str] = field(
        default_factory=lambda: list(SESSION_BASELINES), metadata={"help": f"of {', '.join(SESSION_BASELINES)}"}
    )
    max_length: int = field(default=MAX_LENGTH, metadata={"help": "items of a session that a prediction sees at most"})


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in SESSION_BASELINES:
            raise ValueError(f"models: {model!r} is not one of {', '.join(SESSION_BASELINES)}")
    commit = git_commit()
    runs = {
        f"{dataset}, {model}": [
            CountedSessions(
                recipe=RECIPE,
                variant=model,
                commit=commit,
                seed=seed,
                data={
                    "dataset": SESSION_DATASETS.get(dataset, dataset),
                    "data_dir": settings.data_dir,
                    "max_length": settings.max_length,
                },
                score=settings.score,
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.models
    }
    run_all(runs, f"session recommendation: {settings.score} recall@20 and MRR@20 (%)", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
