"""Which event comes next in a history of events at times: encodings of time side by side, and counts.

    python recipes/badges_lste.py                                   all encodings and baselines, on badges
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

from collections.abc import Sequence

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.run import Run
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.sequences.baselines import EVENT_BASELINES, CountedEvents
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS
from ctxzoo.tasks.sequences.experiments import build_event_paper_experiment
from ctxzoo.tasks.sequences.problem import NEXT_EVENT

COMPARED = ("none", "positional", "bochner", "mercer", "time2vec", "lste", "lste_behaviour")
BASE = build_event_paper_experiment("time_encoder", "lste").copy_with(recipe="badges_lste")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("badges",),
    encodings: Sequence[str] = COMPARED,
    floors: Sequence[str] = tuple(EVENT_BASELINES),
    seeds: Sequence[int] = (0,),
) -> None:
    """Score every baseline, train and score a model with every encoding of time and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: badges, movielens_100k, sample; or any other Hub id, folder or file.
        encodings: Names of time encodings, variants that `ctxzoo info time_encoder` lists.
        floors: Names of count-based baselines: pop, markov; none: only time encodings.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    baselines = [variant for variant in floors if variant != "none"]
    runs: dict[str, list[Run]] = {}
    for name in dataset:
        dataset_experiment = experiment.copy_with(dataset=HISTORY_DATASETS.get(name, name))
        runs |= {
            f"{name}, {variant}": [
                CountedEvents(NEXT_EVENT, CountedEvents.build_experiment(dataset_experiment, variant))
            ]
            for variant in baselines
        }
        for encoding in encodings:
            runs[f"{name}, {encoding}"] = [
                ExperimentRun(NEXT_EVENT, dataset_experiment.copy_with(variant=encoding, seed=seed)) for seed in seeds
            ]
    title = f"next event: {experiment.score} recall@1 and MRR@20 (%), mean ± sd over seeds"
    run_all(runs, title, experiment.run)


STUDY = Study(main, NEXT_EVENT, BASE, {"variant": "encodings"}, {"floors": (*EVENT_BASELINES, "none")})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
