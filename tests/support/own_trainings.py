"""What `ctxzoo train` does, one for each problem."""

from __future__ import annotations

from typing import Any

import pytest

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.own_data import OwnArgs, with_rows, write_rows
from ctxzoo.runs.own_training import prepared
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.tasks import commands_named
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.tasks.question_answering.problem import QUESTION_ANSWERING
from ctxzoo.tasks.regression.problem import REGRESSION
from ctxzoo.tasks.sequences.problem import NEXT_EVENT, SESSION_RECOMMENDATION
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION
from ctxzoo.tasks.word_embeddings.training import WordVectorTraining


class ProblemTraining:
    """A problem whose trainings are experiments, as tests of all problems ask for it.

    Args:
        problem: The problem.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.card, self.default, self.space = problem, problem.card, problem.default, problem.space
        self.objective, self.lower_is_better = problem.objective, problem.lower_is_better
        self.architectures, self.variants = problem.architectures, problem.variants
        self.preset, self.tiny, self.search_space = problem.settings, problem.tiny, problem.search_space

    def asked(self, request: TrainingRequest, experiment: Experiment) -> Experiment:
        """What `ctxzoo train` would make of a request."""
        where = {
            name: getattr(request, name) for name in ("output_dir", "results_dir", "accelerator", "devices", "replace")
        }
        columns = {name: value for name, value in request.columns.items() if value is not None}
        recipe = f"train_{self.card.name.replace('-', '_')}"
        named = {
            "dataset": request.data,
            "seed": request.seed,
            "recipe": recipe,
            "tensorboard": False,
            "progress": False,
        }
        return experiment.changed(**where, **columns, **named)

    def prepared(self, request: TrainingRequest) -> OwnSplits:
        files = {name: file for name in ("validation", "test") if (file := getattr(request, name)) is not None}
        own = OwnArgs(**files)
        return write_rows(self.problem, self.asked(request, self.preset("default", *self.default)), own)

    def run(self, request: TrainingRequest, experiment: Experiment, splits: OwnSplits) -> ExperimentRun:
        return ExperimentRun(self.problem, with_rows(self.asked(request, experiment), splits))


def prepared_rows(training: Any, request: TrainingRequest) -> OwnSplits:
    """The rows of a user, divided and written."""
    return training.prepared(request) if isinstance(training, ProblemTraining) else prepared(training, request)


def data_class_of(training: Any) -> Any:
    """The DataModule of a problem."""
    if isinstance(training, ProblemTraining):
        return type(training.problem.data_module(training.preset("default", *training.default)))
    return training.run_class.data_class


def config_of(settings: Any) -> dict[str, Any]:
    """The fields of a model's config that settings decide, without its `model_type`."""
    if not isinstance(settings, Experiment):
        return dict(settings.config)
    problem: Any = commands_named(settings.problem)
    return {**problem.variants(settings.model.architecture)[settings.model.variant], **settings.model.config()}


TRAININGS: list[Any] = [
    ProblemTraining(LANGUAGE_MODELLING),
    ProblemTraining(NEXT_EVENT),
    ProblemTraining(POLYPHONIC_MUSIC),
    ProblemTraining(QUESTION_ANSWERING),
    ProblemTraining(REGRESSION),
    ProblemTraining(SESSION_RECOMMENDATION),
    ProblemTraining(TEXT_CLASSIFICATION),
    ProblemTraining(TOKEN_CLASSIFICATION),
    ProblemTraining(VOTE_PREDICTION),
    WordVectorTraining(),
]
each_training = pytest.mark.parametrize("training", TRAININGS, ids=[one.card.name for one in TRAININGS])
