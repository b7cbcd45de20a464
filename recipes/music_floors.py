"""The bars of polyphonic music: how often each key sounds, alone or by whether it sounded at the step before.

    python recipes/music_floors.py                          both, on the four sets
    python recipes/music_floors.py --dataset sample         no network needed
    python recipes/music_floors.py --resume                 what is finished is kept

A model that is not below them has learned nothing of harmony.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.polyphonic_music.experiments import MUSIC_DATASETS, music_dataset
from ctxzoo.tasks.polyphonic_music.floors import FLOORS, FloorRun

RECIPE = "music_floors"


@dataclass
class Settings(RunSettings):
    dataset: list[str] = field(
        default_factory=lambda: [name for name in MUSIC_DATASETS if name != "sample"],
        metadata={"help": f"of {', '.join(MUSIC_DATASETS)}; or any other"},
    )
    models: list[str] = field(default_factory=lambda: list(FLOORS), metadata={"help": f"of {', '.join(FLOORS)}"})


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
                data={**(data := music_dataset(dataset)), "data_dir": settings.data_dir},
                score=settings.score,
                tag=data["config_name"] or "",
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.models
    }
    run_all(runs, f"polyphonic music: {settings.score} nats of a step and frame accuracy", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
