"""Floors, on votes that can be counted by hand, and on the Senate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.tasks.vote_prediction.baselines import BASELINES, score_baseline
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.experiments import get_dataset_arguments
from tests.tasks.vote_prediction.test_reader import written

ROWS = "legislator,bill,vote,party\nAl,1,1,red\nBo,1,1,red\nCy,1,0,blue\nAl,2,0,red\nCy,2,1,blue\n"


def test_counts(tmp_path: Path) -> None:
    data = VoteDataModule(written(tmp_path / "a.csv", ROWS))
    data.setup()
    assert BASELINES["bill_rate"](data).tolist() == [[2.5 / 4] * 3, [1.5 / 3] * 3]
    assert BASELINES["party_rate"](data).tolist() == [[2.5 / 4, 2.5 / 4, 1.5 / 3]] * 2
    assert BASELINES["bill_party_rate"](data).tolist() == [[2.5 / 3, 2.5 / 3, 0.5 / 2], [0.5 / 2, 0.5 / 2, 1.5 / 2]]


def test_tfidf_reads_texts_of_the_sample() -> None:
    data = VoteDataModule("sample")
    data.setup()
    scores = {
        name: score_baseline(floor(data), data.vote_matrix("test"))["log_likelihood"]
        for name, floor in BASELINES.items()
    }
    assert scores["tfidf_party"] > max(scores["bill_rate"], scores["party_rate"])


@pytest.mark.data
def test_the_bars_of_the_senate() -> None:
    """They are those that were measured elsewhere, but for the half that is added to yeas and nays of a bill."""
    data = VoteDataModule(**get_dataset_arguments("roll_call"))
    data.setup()
    expected = {"bill_rate": (69.5, 0.422, -0.513), "bill_party_rate": (90.6, 0.261, -0.230)}
    for name, (accuracy, rmse, likelihood) in expected.items():
        found = score_baseline(BASELINES[name](data), data.vote_matrix("test"))
        assert found["accuracy"] == pytest.approx(accuracy, abs=0.1)
        assert found["rmse"] == pytest.approx(rmse, abs=1e-3)
        assert found["log_likelihood"] == pytest.approx(likelihood, abs=1e-3)
    assert np.isnan(data.observed).mean() == pytest.approx(1 - 0.8 * 0.396, abs=1e-3)
