"""Bars that count: how often each word occurs, alone or behind the one to four words before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.counted import CountedRun
from ctxzoo.tasks.language_modelling.card import CARD
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
from ctxzoo.tasks.language_modelling.ngrams import KneserNey
from ctxzoo.tasks.language_modelling.streams import TokenStream
from ctxzoo.tasks.language_modelling.task import LanguageModellingScores
from ctxzoo.tasks.language_modelling.vocabulary import predicted_words

# Name to the length of the longest n-grams of a modified Kneser-Ney model.
FLOORS = MappingProxyType({"unigram": 1, "bigram": 2, "kneser_ney_5": 5})


def fit_floor(name: str, data: LanguageModellingDataModule) -> KneserNey:
    """Return one of `FLOORS`, counted in the training text of data after `setup`.

    Raises:
        ValueError: another name; no training text.
    """
    if name not in FLOORS:
        raise ValueError(f"unknown floor {name!r}; known: {', '.join(FLOORS)}")
    train = data.stream("train")
    return KneserNey(train.tokens, FLOORS[name], predicted_words(data.tokenizer), train.end_id)


def score_floor(model: KneserNey, stream: TokenStream) -> dict[str, float]:
    """Return the scores of `LanguageModellingScores` over a split."""
    scores = LanguageModellingScores()
    losses = torch.from_numpy(-np.log(model.probabilities(stream.tokens)))
    scores.update(losses, torch.from_numpy(stream.tokens == stream.unknown_id))
    return scores.compute()


@dataclass(frozen=True, kw_only=True)
class FloorRun(CountedRun):
    """One of `FLOORS`; see `CountedRun`."""

    card: ClassVar[TaskCard] = CARD
    data_class: ClassVar[Any] = LanguageModellingDataModule

    def settings(self) -> Mapping[str, Any]:
        return {"order": FLOORS.get(self.variant), "min_word_count": self.data.get("min_word_count", 1)}

    def count(self, data: LanguageModellingDataModule) -> tuple[int, Callable[[str], dict[str, float]]]:
        model = fit_floor(self.variant, data)
        return model.numbers, lambda split: score_floor(model, data.stream(split))
