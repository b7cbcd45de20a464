from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction
from ctxzoo.tasks.vote_prediction import (
    correlation,
    draw_ideal_points,
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


def marks(figure: Figure) -> dict[str, tuple[Any, Any]]:
    """The colour of each party and where its legislators stand, but for those with nothing to compare with."""
    (axes,) = figure.axes
    return {
        str(each.get_label()): (to_rgb(each.get_facecolor()[0]), np.ma.compress_rows(each.get_offsets()))
        for each in axes.collections
    }


def test_parties_stand_where_their_points_and_votes_are_in_a_colour_of_their_own(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    model = model_of()
    points = ideal_points(model)
    others = {"Ada": 0.5, "Ben": -2.0, "$Dot$": 0.1}
    heights = np.array([others.get(name, np.nan) for name in SIZES["legislator_names"]])
    with collect_reading_notes() as notes:
        agreement = draw_ideal_points(model, tmp_path / "points.png", others=others)
    assert list(notes.counts().values()) == [1]  # Cyd has none
    with pytest.raises(ValueError, match="0 of the 4 legislators of the model, such as 'Ada', has a point of NOMINATE"):
        draw_ideal_points(model, tmp_path / "none.png", others={"ADA": 0.5, "BEN": -2.0})
    draw_votes(model, "a road", tmp_path / "votes.png")
    seen = np.isfinite(heights)
    signed = np.corrcoef(points[seen], heights[seen])[0, 1]
    assert agreement == pytest.approx(abs(signed))
    assert drawn[0].axes[0].get_title(loc="left") == f"ideal points beside NOMINATE, |r| = {abs(signed):.3f}"
    yeas = np.array([yea for _, yea in model.predict_votes("a road")])
    for figure, x, y in ((drawn[0], points * np.sign(signed), heights), (drawn[1], points, yeas)):
        found = marks(figure)
        for party in ("Democrat", "Republican", "Own"):
            rows = (np.array(SIZES["legislator_groups"]) == party) & np.isfinite(y)
            np.testing.assert_allclose(found[party][1], np.stack([x[rows], y[rows]], axis=1), rtol=1e-6)
        assert found["Democrat"][0] == to_rgb("tab:blue")
        assert found["Republican"][0] == to_rgb("tab:red")
        assert len({colour for colour, _ in found.values()}) == 3


def test_pictures(tmp_path: Path) -> None:
    model = model_of()
    points = dict(zip(SIZES["legislator_names"], ideal_points(model).tolist(), strict=True))
    others = {name: 2 - point for name, point in points.items() if name != "Cyd"}
    assert draw_ideal_points(model, tmp_path / "points.png", others=others) == pytest.approx(1)
    assert draw_ideal_points(model, tmp_path / "alone.png") is None
    draw_votes(model, "a $road$ and a very long text " * 9, tmp_path / "votes.png")
    for name in ("points", "alone", "votes"):
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
