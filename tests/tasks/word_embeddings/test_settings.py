"""Settings of word vectors: what is customary, schedules, values out of range."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, WordEmbeddingTraining

GIVEN: dict[str, Any] = {"epochs": 5, "negative_samples": 10, "subsampling": 1e-3}


def customary(architecture: str = "attention_cbow", **changes: Any) -> WordEmbeddingTraining:
    return WordEmbeddingTraining.with_architecture_defaults(architecture, **{**GIVEN, **changes})


def test_every_architecture_has_its_customs() -> None:
    assert set(CUSTOMS) == set(get_args(WordEmbeddingConfig.__annotations__["architecture"]))


def test_customs_are_of_the_architecture_and_given_values_win() -> None:
    cbow = customary("cbow", learning_rate=None, schedule="constant")
    assert (cbow.learning_rate, cbow.schedule, cbow.random_window, cbow.input_gradient) == (
        *(0.05, "constant"),
        *(True, "word2vec"),
    )
    attention = customary(random_window=True)
    assert (attention.schedule, attention.random_window, attention.input_gradient) == ("constant", True, "exact")


def test_the_linear_schedule_falls_to_a_last_part_and_stays_there() -> None:
    linear = customary(schedule="linear", learning_rate=0.2, logit_learning_rate=0.4)
    assert [linear.learning_rate_at(share) for share in (0.0, 0.25, 1.0, 1.1)] == pytest.approx([0.2, 0.15, 2e-5, 2e-5])
    assert linear.logit_learning_rate_at(0.25) == pytest.approx(0.3)


def test_the_constant_schedule_stays() -> None:
    constant = customary(learning_rate=0.2)
    assert [constant.learning_rate_at(share) for share in (0.0, 0.5, 1.0)] == [0.2] * 3
    assert constant.logit_learning_rate_at(0.5) == 0.2
    assert customary(logit_learning_rate=0.0).logit_learning_rate_at(0.5) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected 1 or more"),
        ({"negative_samples": -1}, "negative_samples is -1; expected 0 or more"),
        ({"subsampling": -0.1}, "subsampling is -0.1; expected 0 or more"),
        ({"subsampling": float("nan")}, "subsampling is nan; expected 0 or more"),
        ({"seed": -1}, "seed is -1; expected 0 or more"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a positive number"),
        ({"logit_learning_rate": -1.0}, "logit_learning_rate is -1.0; expected 0 or more"),
        ({"schedule": "cosine"}, "schedule is 'cosine'; expected one of constant, linear"),
        ({"input_gradient": "whole"}, "input_gradient is 'whole'; expected one of exact, word2vec"),
    ],
)
def test_values_out_of_range_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        customary(**changes)
