"""Ratings: their trainings, and what the command line does with their checkpoints."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.runs.experiment import DataArgs, Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.tasks.commands import Option, TaskCommands, get_scoring_arguments
from tests.support.rating.experiments import ARCHITECTURE, PROBLEM, SEARCH_SPACE, VARIANT, RatingModel, default

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows


class Rating(Problem, TaskCommands):
    """How a person rates a thing."""

    name, title = PROBLEM, "ratings"
    card_at, module_at = "tests.support.rating.card:CARD", "tests.support.rating.task:RatingTask"
    data_args, model_args = DataArgs, RatingModel
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective, lower_is_better = "rmse", True
    evaluate_options = (Option("users", "of the generated ratings", int),)
    predict_options = (Option("user", type=int), Option("item", type=int))

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        return {VARIANT: {}}

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        if name == "paper":
            raise ValueError("there are no settings of a paper for ratings; try --settings default")
        return default(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        size = {"factors": 1} if experiment.start.init_from is None else {}
        return experiment.copy_with(epochs=1, tiny=True, **size)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files, number_groups_by_key
        from tests.support.rating.data import read_ratings

        def load(source: str) -> Loaded:
            splits = read_ratings(source, experiment.run.data_dir)
            return splits, dict.fromkeys(splits, source)

        splits, _ = load_splits_of_files(experiment.data.dataset, files, load)
        # A person who rates a thing again stays on one side.
        pairs = {name: zip(rows["user"], rows["item"], strict=True) for name, rows in splits.items()}
        groups = number_groups_by_key(pairs)
        return OwnRows(splits=splits, groups=groups, unit="ratings", together="person and thing")

    def build_data_module(self, experiment: Experiment) -> Any:
        from tests.support.rating.data import RatingDataModule

        data = experiment.data
        return RatingDataModule(experiment.source, data_dir=experiment.run.data_dir, batch_size=data.batch_size)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        return "--user 0 --item 0"

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        from tests.support.rating.task import evaluate

        how = get_scoring_arguments(options)
        users = {} if problem_options["users"] is None else {"users": problem_options["users"]}
        quiet = {name: how[name] for name in ("data_dir", "batch_size", "progress")}
        return evaluate(options.checkpoint, options.dataset, options.split, **quiet, **users)

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        if (
            problem_options["user"] is None
            or problem_options["item"] is None
            or options.file is not None
            or options.output is not None
        ):
            raise ValueError("give --user and --item; ratings read no --file and write no --output")

        from tests.support.rating.architecture import RatingForPairs
        from tests.support.rating.card import CARD

        print(CARD.predict(RatingForPairs.from_pretrained(options.checkpoint), None, problem_options)["rating"])


RATING = Rating()
