"""Which event comes next in a history of events at times: encodings of time side by side, and counted floors.

    python recipes/badges_lste.py                                   all encodings and floors, on badges
    python recipes/badges_lste.py --encodings lste bochner --seeds 0 1 2
    python recipes/badges_lste.py --dataset movielens_100k --time_transform log
    python recipes/badges_lste.py --dataset sample --tiny              no network needed
    python recipes/badges_lste.py --score validation                   to choose settings: test is left alone
    python recipes/badges_lste.py --resume                             finished runs are kept, the others go on

The model is a time encoder; an encoding enters the scores of every layer as a kernel, the
sinusoids of positions are added to the steps. Results files keep hits and reciprocal ranks of each history, for paired
tests. --name tells runs with other settings apart. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.next_event.run import ENCODINGS, NextEventSettings, next_event_run
from ctxzoo.tasks.sequences.baselines import EVENT_BASELINES, CountedEvents
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS

RECIPE = "badges_lste"
COMPARED = ("none", "positional", "bochner", "mercer", "time2vec", "lste", "lste_behaviour")


@dataclass
class Settings(NextEventSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["badges"], metadata={"help": f"of {', '.join(HISTORY_DATASETS)}; or any other"}
    )
    encodings: list[str] = field(
        default_factory=lambda: list(COMPARED), metadata={"help": f"of time, of {', '.join(ENCODINGS)}"}
    )
    floors: list[str] = field(
        default_factory=lambda: list(EVENT_BASELINES),
        metadata={"help": f"of {', '.join(EVENT_BASELINES)}; none: only encodings"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings apart"})


def main(settings: Settings) -> None:
    floors = [floor for floor in settings.floors if floor != "none"]
    for floor in floors:
        if floor not in EVENT_BASELINES:
            raise ValueError(f"floors: {floor!r} is not one of {', '.join(EVENT_BASELINES)}, or none")
    commit = git_commit()
    runs: dict[str, list[object]] = {}
    for dataset in settings.dataset:
        for floor in floors:
            runs[f"{dataset}, {floor}"] = [
                CountedEvents(
                    recipe=RECIPE,
                    variant=floor,
                    commit=commit,
                    data={
                        "dataset": HISTORY_DATASETS.get(dataset, dataset),
                        "data_dir": settings.data_dir,
                        "max_length": settings.max_length,
                    },
                    score=settings.score,
                    output_dir=settings.output_dir,
                    results_dir=settings.results_dir,
                )
            ]
        for encoding in settings.encodings:
            runs[f"{dataset}, {encoding}"] = [
                next_event_run(settings, dataset, encoding, seed=seed, recipe=RECIPE, commit=commit, tag=settings.name)
                for seed in settings.seeds
            ]
    run_all(runs, f"next event: {settings.score} recall@1 and MRR@20 (%), mean ± sd over seeds", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
