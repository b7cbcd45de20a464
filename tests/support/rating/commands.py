"""`ctxzoo evaluate` and `ctxzoo predict` for ratings."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import Option, TaskCommands, how_to_score


class RatingCommands(TaskCommands):
    title = "ratings"
    evaluate_options = (Option("users", "of the generated ratings", int),)
    predict_options = (Option("user", type=int), Option("item", type=int))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from tests.support.rating.evaluation import evaluate

        how = how_to_score(options)
        users = {} if own["users"] is None else {"users": own["users"]}
        quiet = {name: how[name] for name in ("batch_size", "progress")}
        return evaluate(options.checkpoint, options.dataset, options.split, **quiet, **users)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        if own["user"] is None or own["item"] is None or options.file is not None or options.output is not None:
            raise ValueError("give --user and --item; ratings read no --file and write no --output")

        from tests.support.rating.architecture import RatingForPairs
        from tests.support.rating.card import CARD as RATING

        print(RATING.predict(RatingForPairs.from_pretrained(options.checkpoint), None, own)["rating"])


COMMANDS = RatingCommands()
