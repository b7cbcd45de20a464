"""Trainings on data of one's own, for every problem, as `ctxzoo train` asks for them."""

from __future__ import annotations

from typing import Any

import pytest

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.runs.experiment import Experiment
from ctxzoo.tasks import PROBLEMS, get_problem

ALL_PROBLEMS: list[Any] = [get_problem(name) for name in PROBLEMS]
each_problem = pytest.mark.parametrize("problem", ALL_PROBLEMS, ids=[one.name for one in ALL_PROBLEMS])


def own_experiment(problem: Any, data: str, *, tiny: bool = False, **changes: Any) -> Experiment:
    """The usual settings of a problem on some data.

    Args:
        problem: The problem.
        data: File, folder or sample.
        tiny: Whether the model is a small one.
        changes: Name to another value.
    """
    usual = problem.get_settings("default", *problem.default)
    named = {"dataset": data, "recipe": f"train_{problem.name.replace('-', '_')}", "accelerator": "cpu"}
    return (problem.make_tiny(usual) if tiny else usual).copy_with(
        **named, **{"tensorboard": False, "progress": False, "results_dir": "runs/results", **changes}
    )


def config_of(experiment: Experiment) -> dict[str, Any]:
    """The fields of a model's config that settings decide, without its `model_type`."""
    problem = get_problem(experiment.problem)
    return {
        **problem.get_variants(experiment.model.architecture)[experiment.model.variant],
        **experiment.model.get_config_changes(),
    }
