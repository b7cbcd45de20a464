"""GRU4REC, NARM and STAMP on sessions of items, to compare HCRNN with.

    python recipes/session_baselines.py                                  all three on CiteULike
    python recipes/session_baselines.py --models narm --seeds 10 20      one of them, twice
    python recipes/session_baselines.py --dataset movielens_1m movielens_100k
    python recipes/session_baselines.py --dataset sample --tiny          no network needed
    python recipes/session_baselines.py --score validation               to choose settings: test is left alone
    python recipes/session_baselines.py --resume                         finished runs are kept, the others go on

Datasets and settings are those of recipes/citeulike_hcrnn.py. --sigmoid_scores gives STAMP the scores between 0 and 1
of the HCRNN authors' code; --name tells runs with other settings apart. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.options import reported
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.session_recommendation.run import SessionSettings, session_run

RECIPE = "session_baselines"
MODELS = tuple(SessionBaselineConfig.variants)


@dataclass
class Settings(SessionSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["citeulike"], metadata={"help": f"of {', '.join(SESSION_DATASETS)}; or any other"}
    )
    models: list[str] = field(default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join(MODELS)}"})
    sigmoid_scores: bool = reported(False, "of stamp: scores between 0 and 1, as in the HCRNN authors' code")
    name: str = field(default="", metadata={"help": "tells runs with other settings apart"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {model}": [
            session_run(
                settings,
                dataset,
                "session_baseline",
                model,
                seed=seed,
                recipe=RECIPE,
                commit=commit,
                fields={"sigmoid_scores": settings.sigmoid_scores and model == "stamp"},
                tag=settings.name,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.models
    }
    run_all(runs, f"session recommendation: {settings.score} recall@20 and MRR@20 (%), mean ± sd over seeds", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
