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
recipes/roll_call_floors.py has the baselines that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.vote_prediction.experiments import (
    ALONE,
    TINY,
    VARIANTS,
    VOTE_DATASETS,
    VoteModel,
    build_base_experiment,
    get_dataset_arguments,
    set_variant,
)
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION

ARCHITECTURES = {model: architecture for architecture, variants in VARIANTS.items() for model in variants}
MODELS = tuple(ARCHITECTURES)
NEW_BILLS = VOTE_DATASETS["roll_call_new_bills"]
ANY, OF_NIPEN = "*", "nipen: *"
Rows = tuple[tuple[str, bool, dict[str, Any]], ...]
# Chosen on validation; the trials stand in results/trials/roll_call_nipen. Of each row: the models (those of NIPEN have
# "nipen: " before their names), whether it is for new bills alone, and what is set there. Later rows win.
SCHEDULES: Rows = (
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
WEIGHTS: Rows = (  # in place of the published ones
    (OF_NIPEN, False, {"trust_lambda": 500, "ideal_lambda": 20, "text_lambda": 10}),
    (OF_NIPEN, False, {"topic_lambda": 10, "bias_lambda": 5, "num_topics": 3}),
    (f"nipen: *{ALONE}", False, {"ideal_lambda": 25, "topic_lambda": 1, "bias_lambda": 1, "num_topics": 10}),
    ("nipen: *low_rank*", False, {"trust_lambda": 30}),
    ("nipen: *tensor*", False, {"weight_lambda": 0.1, "tensor_lambda": 1}),
    (OF_NIPEN, True, {"new_bill_rate": 1.0, "text_lambda": 0.1, "weight_lambda": 3}),
    (OF_NIPEN, True, {"ideal_lambda": 0.5, "num_topics": 10}),
)
OF_BASELINES: Rows = (
    ("ideal_point", False, {"ridge": 0.2}),
    ("ideal_point_network", False, {"trust_ridge": 30}),
    ("trust_svd", False, {"ridge": 1}),
    ("cdl", True, {"text_weight": 0.01}),
)


@dataclass(frozen=True, kw_only=True)
class RollCallModel(VoteModel):
    """What is trained.

    Args:
        weights: Weights of NIPEN's loss terms: ours, or the authors'.
    """

    weights: Literal["ours", "authors"] = "ours"

    def get_config_changes(self) -> dict[str, Any]:
        """Return the changed fields of the config; the option `weights` is none of them."""
        return {name: value for name, value in super().get_config_changes().items() if name != "weights"}


BASE = replace(build_base_experiment(), model=RollCallModel(architecture="", variant="")).copy_with(
    recipe="roll_call_nipen", ema_decay=0.99, precision="bf16-mixed"
)


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("roll_call",),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    learning_rate: float | None = None,
    fields: Sequence[str] = (),
) -> None:
    """Train and score NIPEN and other vote predictors on every dataset with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: roll_call, roll_call_new_bills, sample; or any other Hub id, folder or file.
        models: Names of models: NIPEN's variants, or the baselines of vote_baseline.
        seeds: Seeds of all random draws; each gives a run of its own.
        epochs: Maximum number of passes over the training data; null: the number chosen for the model.
        learning_rate: Peak learning rate of the optimizer; null: the one chosen for the model.
        fields: Fields of the model's configuration to change, as name=number.
    """
    changes: dict[str, Any] = {"epochs": epochs, "learning_rate": learning_rate}
    changes = {name: value for name, value in changes.items() if value is not None} | _parse_numeric_fields(fields)
    rows = [
        (f"{name}, {model}", set_model(experiment, name, model).copy_with(**changes))
        for name in dataset
        for model in models
    ]
    title = f"vote prediction: {experiment.score} accuracy (%) and log-likelihood of a vote, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, VOTE_PREDICTION), rows, seeds, title)


def set_model(experiment: Experiment, dataset: str, model: str) -> Experiment:
    """Return the experiment with a model on a dataset, and the settings that this file lists for both."""
    usual: Any = experiment
    source = get_dataset_arguments(dataset, usual.data.configuration)
    architecture, on_new_bills = ARCHITECTURES[model], source == NEW_BILLS

    def select_settings(rows: Rows) -> dict[str, Any]:
        """Return the values of all rows that apply to this model and dataset; later rows win."""
        name = f"nipen: {model}" if architecture == "nipen" else model
        fitting = [values for pattern, new, values in rows if fnmatchcase(name, pattern) and (on_new_bills or not new)]
        return {name: value for values in fitting for name, value in values.items()}

    schedule, fields = select_settings(SCHEDULES), select_settings(OF_BASELINES)
    if architecture == "nipen":
        fields = select_settings(WEIGHTS) if usual.model.weights == "ours" else {}
        fields["amortized_bills"] = on_new_bills
    if experiment.trainer.tiny:
        schedule["epochs"] = experiment.trainer.epochs
        fields |= TINY[architecture]
    return set_variant(experiment.copy_with(**source, **schedule), architecture, model, **fields)


def _parse_numeric_fields(fields: Sequence[str]) -> dict[str, Any]:
    """Return the numbers given as `name=number` on the command line, by name.

    Raises:
        ValueError: a field that is no name and number.
    """
    numbers: dict[str, Any] = {}
    for text in fields:
        name, _, value = text.partition("=")
        try:
            numbers[name] = int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError:
            raise ValueError(f"fields: {text!r}; expected name=number, such as num_topics=3") from None
    return numbers


STUDY = Study(main, VOTE_PREDICTION, BASE, {"variant": "models"}, {"models": MODELS})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
