"""What the shared model suite must know of the model of ratings."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ctxzoo.models import Architecture
from ctxzoo.models.configuration_base import ZooConfig
from tests.support.model_cases import BadInput, Batch, ModelCase, OverfitGoal
from tests.support.rating.architecture import RatingConfig, RatingForPairs

HEAD = "RatingForPairs"


class RatingCase(ModelCase):
    representative = "tiny"
    trained_head = HEAD
    overfit = OverfitGoal(steps=200, learning_rate=0.1, bound=0.01)
    draws_in_training = False
    has_attentions = False
    has_hidden_states = False

    def configs(self) -> dict[str, ZooConfig]:
        return {"tiny": RatingConfig()}

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        rows = (len(lengths),)
        return {
            "users": torch.randint(8, rows, generator=generator),
            "items": torch.randint(6, rows, generator=generator),
        }

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        return {"labels": 3 + torch.randn(len(batch["users"]), generator=generator)}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        def unknown(batch: Batch) -> None:
            batch["users"] = batch["users"] + 8

        return [BadInput("unknown_user", unknown, "users go from")]


RATING_ARCHITECTURE = Architecture("rating", RatingConfig, {HEAD: RatingForPairs})
