"""What is written about a model of ratings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig

WITH_PACKAGE = """\
import torch
from tests.support.rating.architecture import RatingForPairs

model = RatingForPairs.from_pretrained(repo)
with torch.no_grad():
    print(round(model(torch.tensor([user]), torch.tensor([item])).ratings.item(), 4))"""


class RatingCard(TaskCard):
    name = "rating"
    title = "ratings"
    predictions = "ratings"
    intended = "Trying whether a problem from outside trains and is described."
    not_intended = "Telling what people think of things."
    metrics: ClassVar = {"rmse": Metric("mse", "root of the mean squared error")}
    headline = ("rmse",)
    results_note = "Over all ratings of the split."
    curves = ("rmse",)
    drawn: ClassVar = {"rmse": "error"}
    sample = make_sample_facts("people with a taste and things with a worth")
    example_keys = ("user", "item", "rating")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        return [["task", "how a person rates a thing"]]

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        yield "It knows the people and things that it was trained on, and no others."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\nuser, item = {example['user']}, {example['item']}",
            with_package=f"{WITH_PACKAGE}\n# {example['rating']}",
            without_package="# the classes of this toy are in no folder",
        )

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        return {"user": 0, "item": 0}

    def pick_split_example(self, data: Any, split: str) -> dict[str, Any]:
        rows = data.rows(split)
        return {"user": int(rows["users"][0]), "item": int(rows["items"][0]), "gold": float(rows["labels"][0])}

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        assert tokenizer is None
        with torch.no_grad():
            ratings = model(torch.tensor([inputs["user"]]), torch.tensor([inputs["item"]])).ratings
        return {"rating": round(ratings.item(), 4)}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        return [f"user {example['user']} rates item {example['item']}: {example['rating']}"]

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        yield f"people: {config.num_users}"


CARD = RatingCard()
