from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction
from ctxzoo.tasks.vote_prediction import (
    correlation,
    draw_ideal_points,
    draw_topics,
    draw_votes,
    ideal_points,
    topic_words,
)

SIZES: dict[str, Any] = {
    "num_legislators": 4,
    "num_bills": 3,
    "vocab_size": 3,
    "legislator_names": ["Ada", "Ben", "Cyd", "$Dot$"],
    "legislator_groups": ["Democrat", "Republican", "Democrat", "Own"],
    "words": ["road", "$sea$", "tax"],
}


def model_of(**fields: Any) -> Any:
    torch.manual_seed(0)
    config = NipenConfig(**SIZES, num_topics=2, encoder_widths=[5, 4], amortized_bills=True, **fields)
    return NipenForVotePrediction(config).train()


def test_ideal_points_are_the_first_principal_component() -> None:
    model = model_of()
    with torch.no_grad():
        model.legislators.weight.copy_(torch.tensor([[0.0, 5], [2, 5], [4, 5], [6, 5]]))
    found = ideal_points(model)
    assert np.abs(found) == pytest.approx(np.abs((np.arange(4) - 1.5) / np.arange(4).std()))
    assert correlation(found.tolist(), [-3, -1, 1, float("nan")]) == pytest.approx(1)
    baseline = VoteBaselineForVotePrediction(VoteBaselineConfig(**SIZES, kind="ideal_point", with_network=True))
    assert ideal_points(baseline).shape == (4,)
    with pytest.raises(ValueError, match="has no ideal points"):
        ideal_points(VoteBaselineForVotePrediction(VoteBaselineConfig(**SIZES, kind="autorec")))


def test_words_of_topics_are_those_that_the_decoder_makes_likelier() -> None:
    model = model_of()
    with torch.no_grad():
        for layer in model.encoder.decoder:
            layer.weight.zero_()
        first, second, last = model.encoder.decoder
        first.weight[0, 0] = second.weight[0, 0] = last.weight[2, 0] = 1
    topics = topic_words(model, 1)
    assert len(topics) == 2
    assert topics[0] == ["tax"]
    assert model.training
    with pytest.raises(ValueError, match="has no topics with words"):
        topic_words(VoteBaselineForVotePrediction(VoteBaselineConfig(**SIZES, kind="cdl")))


def test_pictures(tmp_path: Path) -> None:
    model = model_of()
    points = dict(zip(SIZES["legislator_names"], ideal_points(model).tolist(), strict=True))
    others = {name: 2 - point for name, point in points.items() if name != "Cyd"}
    assert draw_ideal_points(model, tmp_path / "points.png", others=others) == pytest.approx(1)
    assert draw_ideal_points(model, tmp_path / "alone.png") is None
    draw_topics(model, tmp_path / "topics.png")
    draw_votes(model, "a $road$ and a very long text " * 9, tmp_path / "votes.png")
    for name in ("points", "alone", "topics", "votes"):
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
