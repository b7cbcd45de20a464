"""What the shared model suite must know of the toy."""

from __future__ import annotations

from typing import Any

from ctxzoo.models import Architecture
from ctxzoo.models.configuration_base import ZooConfig
from tests.support.model_cases import OverfitGoal
from tests.support.text_case import CLASSIFIER, TextCase
from tests.support.toy.configuration_toy import ToyConfig
from tests.support.toy.modeling_toy import ToyForSequenceClassification, ToyModel

SIZES: dict[str, Any] = {"vocab_size": 30, "word_dim": 6, "num_labels": 3}


class ToyCase(TextCase):
    representative = "plain"
    overfit = OverfitGoal(steps=200, learning_rate=0.1, bound=0.1)

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "plain": ToyConfig(**SIZES),
            "wide": ToyConfig(**SIZES, wide_buckets=8, wide_char_buckets=3, position_dim=2),
        }


CASE = ToyCase()
TOY = Architecture("toy", ToyConfig, {"AutoModel": ToyModel, CLASSIFIER: ToyForSequenceClassification})
