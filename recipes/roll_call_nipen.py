"""NIPEN and the models beside it on roll calls of the Senate: how each senator votes on a bill.

    python recipes/roll_call_nipen.py                                   every model, votes drawn one by one
    python recipes/roll_call_nipen.py --dataset roll_call_new_bills     bills that have no vote in the training
    python recipes/roll_call_nipen.py --models pgm_vae ideal_point      two of them
    python recipes/roll_call_nipen.py --dataset sample --tiny           no network needed
    python recipes/roll_call_nipen.py --score validation                to choose settings: test is left alone
    python recipes/roll_call_nipen.py --resume                          finished runs are kept, the others go on

Models of NIPEN: pgm_sdae, pgm_sdae_low_rank, pgm_vae, tensor, each also with _alone behind its name: without the
network.
Models beside it: ideal_point, ideal_point_network, autorec, cdae, trust_svd, cdl. On new bills the parameters of bills
follow from their texts; of the models beside it cdl alone can do that. The weights of the objective are ours, chosen on
validation, but with --weights authors, which takes the published ones. A YAML file of settings may come first;
recipes/roll_call_floors.py has the bars that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.options import reported
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.vote_prediction.data import VOTE_DATASETS
from ctxzoo.tasks.vote_prediction.run import VoteSettings, vote_run

RECIPE = "roll_call_nipen"
ALONE = "_alone"
MODELS = (
    *(f"{model}{end}" for model in NipenConfig.variants for end in ("", ALONE) if end == "" or "low_rank" not in model),
    *VoteBaselineConfig.variants,
)
NEW_BILLS = "roll_call_new_bills"
ANY, OF_NIPEN = "*", "nipen: *"
# Chosen on validation; the trials stand in results/trials/roll_call_nipen. Of each row: the models (those of NIPEN have
# "nipen: " before their names), whether it is for new bills alone, and what is set there. Later rows win.
SCHEDULES: tuple[tuple[str, bool, dict[str, Any]], ...] = (
    (ANY, False, {"epochs": 12, "learning_rate": 3e-2}),
    (f"*{ALONE}", False, {"epochs": 40, "learning_rate": 0.2}),
    ("nipen: pgm_sdae_low_rank", False, {"epochs": 30}),
    ("ideal_point", False, {"epochs": 40, "learning_rate": 0.2}),
    ("ideal_point_network", False, {"epochs": 40, "learning_rate": 4e-2}),
    ("autorec", False, {"epochs": 30, "learning_rate": 1e-3}),
    ("cdae", False, {"epochs": 40, "learning_rate": 1e-2}),
    ("trust_svd", False, {"epochs": 40, "learning_rate": 4e-2}),
    ("cdl", False, {"epochs": 40, "learning_rate": 0.1}),
    (ANY, True, {"epochs": 12, "learning_rate": 1e-2}),
    ("cdl", True, {"epochs": 10, "learning_rate": 1e-3}),
)
WEIGHTS: tuple[tuple[str, bool, dict[str, Any]], ...] = (  # in place of the published ones
    (OF_NIPEN, False, {"trust_lambda": 500, "ideal_lambda": 20, "text_lambda": 10}),
    (OF_NIPEN, False, {"topic_lambda": 10, "bias_lambda": 5, "num_topics": 3}),
    (f"nipen: *{ALONE}", False, {"ideal_lambda": 25, "topic_lambda": 1, "bias_lambda": 1, "num_topics": 10}),
    ("nipen: *low_rank*", False, {"trust_lambda": 30}),
    ("nipen: *tensor*", False, {"weight_lambda": 0.1, "tensor_lambda": 1}),
    (OF_NIPEN, True, {"amortized_bills": True, "new_bill_rate": 1.0, "text_lambda": 0.1, "weight_lambda": 3}),
    (OF_NIPEN, True, {"ideal_lambda": 0.5, "num_topics": 10}),
)
OF_BASELINES: tuple[tuple[str, bool, dict[str, Any]], ...] = (
    ("ideal_point", False, {"ridge": 0.2}),
    ("ideal_point_network", False, {"trust_ridge": 30}),
    ("trust_svd", False, {"ridge": 1}),
    ("cdl", True, {"text_weight": 0.01}),
)


@dataclass
class Settings(VoteSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["roll_call"], metadata={"help": f"of {', '.join(VOTE_DATASETS)}; or any other"}
    )
    models: list[str] = field(default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join(MODELS)}"})
    ema_decay: float = reported(0.99, "of the moving average of weights; 0: none")
    precision: str = reported("bf16-mixed", "32-true, bf16-mixed, 16-mixed, or auto")
    weights: str = reported("ours", "ours or authors: of the objective of NIPEN")
    amortized_bills: bool = reported(False, "parameters of bills follow from their texts; on new bills they always do")
    fields: list[str] = field(default_factory=list, metadata={"help": "of the model's config, as name=number"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the tables"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {model}": [
            vote_run(
                settings.scheduled(_chosen(SCHEDULES, dataset, model)),
                dataset,
                *_model(model),
                seed=seed,
                recipe=RECIPE,
                commit=commit,
                fields=_fields(settings, dataset, model),
                name=model,
                tag=settings.name,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.models
    }
    run_all(
        runs,
        f"vote prediction: {settings.score} accuracy (%) and log-likelihood of a vote, mean ± sd over seeds",
        settings,
    )


def _model(model: str) -> tuple[str, str]:
    """Return architecture and variant of a model.

    Raises:
        ValueError: there is none of that name.
    """
    if model not in MODELS:
        raise ValueError(f"models: unknown model {model!r}; known: {', '.join(MODELS)}")
    variant = model.removesuffix(ALONE)
    return ("nipen" if variant in NipenConfig.variants else "vote_baseline"), variant


def _chosen(rows: Sequence[tuple[str, bool, dict[str, Any]]], dataset: str, model: str) -> dict[str, Any]:
    """Return what the rows of a table set for a model on a dataset."""
    name = f"nipen: {model}" if _model(model)[0] == "nipen" else model
    found: dict[str, Any] = {}
    for pattern, on_new_bills, values in rows:
        if fnmatchcase(name, pattern) and (dataset == NEW_BILLS or not on_new_bills):
            found |= values
    return found


def _fields(settings: Settings, dataset: str, model: str) -> dict[str, Any]:
    """Return the fields of a model's config that are not those of its variant.

    Raises:
        ValueError: another name of weights; a field that is no name and number.
    """
    if settings.weights not in ("ours", "authors"):
        raise ValueError(f"weights={settings.weights!r}: expected ours or authors")
    found: dict[str, Any] = {}
    if _model(model)[0] == "nipen":
        if settings.weights == "ours":
            found |= _chosen(WEIGHTS, dataset, model)
        if settings.amortized_bills or dataset == NEW_BILLS:
            found["amortized_bills"] = True
        if model.endswith(ALONE):
            found["network_structure"] = "without_network"
    else:
        found |= _chosen(OF_BASELINES, dataset, model)
    for text in settings.fields:
        name, _, value = text.partition("=")
        try:
            found[name] = int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError:
            raise ValueError(f"fields: {text!r}; expected name=number, such as num_topics=3") from None
    return found


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
