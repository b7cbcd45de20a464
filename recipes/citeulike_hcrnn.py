"""HCRNN on CiteULike as its authors split it: which article comes next in what a person collects.

    python recipes/citeulike_hcrnn.py                                    all four models
    python recipes/citeulike_hcrnn.py --models hcrnn3_bi --seeds 10 20   the strongest, twice
    python recipes/citeulike_hcrnn.py --dataset movielens_1m movielens_100k
    python recipes/citeulike_hcrnn.py --dataset sample --tiny            no network needed
    python recipes/citeulike_hcrnn.py --score validation                 to choose settings: test is left alone
    python recipes/citeulike_hcrnn.py --resume                           finished runs are kept, the others go on

Datasets: citeulike, movielens_1m and lastfm (of these two only a part of the authors' sessions is to be had, so that
published numbers do not compare), movielens_100k, sample; or any Hub id or folder with splits of its own (`ctxzoo
train` divides a single file of events). Models: hcrnn1, hcrnn2 and hcrnn3 with attention over states, hcrnn3_bi with
both channels. The settings are the authors', but for the batches: whole sessions, every position of which is trained at
once. --name tells runs with other settings from them. A YAML file of settings may come first.
recipes/session_baselines.py has other models, recipes/session_floors.py the bars that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.options import reported
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.session_recommendation.run import SessionSettings, session_run

RECIPE = "citeulike_hcrnn"
MODELS = tuple(HcrnnConfig.variants)


@dataclass
class Settings(SessionSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["citeulike"], metadata={"help": f"of {', '.join(SESSION_DATASETS)}; or any other"}
    )
    models: list[str] = field(default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join(MODELS)}"})
    num_topics: int = reported(50, "of the global context")
    kl_lambda: float = reported(1e-3, "weight of the divergence of the topics from their prior")
    drift_constraint: str = reported(
        "clip", "clip, or softplus: what keeps the weights of the drift from being negative"
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the authors"})


def main(settings: Settings) -> None:
    commit = git_commit()
    fields = {name: getattr(settings, name) for name in ("num_topics", "kl_lambda", "drift_constraint")}
    runs = {
        f"{dataset}, {model}": [
            session_run(
                settings,
                dataset,
                "hcrnn",
                model,
                seed=seed,
                recipe=RECIPE,
                commit=commit,
                fields=fields,
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
