"""Baselines, on sessions that can be counted by hand, on the samples, and on the authors' data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.metrics.next_item import Ties
from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.sequences.baselines import (
    EVENT_BASELINES,
    SESSION_BASELINES,
    CountedEvents,
    CountedSessions,
    score_baseline,
)
from ctxzoo.tasks.sequences.data import SESSION_DATASETS, SessionDataModule
from ctxzoo.tasks.sequences.experiments import build_event_paper_experiment, build_session_paper_experiment
from ctxzoo.tasks.sequences.problem import NEXT_EVENT, SESSION_RECOMMENDATION
from ctxzoo.tasks.sequences.task import SessionScores

SESSIONS = [np.array(items) for items in ([1, 2, 3], [1, 2, 4, 4], [2, 3], [5, 2])]  # 2 is most popular


def ranking(baseline: str, history: list[int]) -> list[int]:
    scores = SESSION_BASELINES[baseline](SESSIONS, 5)(np.array(history))
    assert scores.shape == (6,)
    assert scores.argmin() == 0
    return (np.argsort(-scores[1:], kind="stable") + 1).tolist()


def test_pop() -> None:
    assert ranking("pop", [5]) == [2, 1, 3, 4, 5]


def test_session_pop() -> None:
    assert ranking("session_pop", [5, 4, 5]) == [5, 4, 2, 1, 3]


def test_markov() -> None:
    # 2 was followed by 3 twice and by 4 once; the others by popularity
    assert ranking("markov", [1, 2]) == [3, 4, 2, 1, 5]
    assert ranking("markov", [2, 1]) == [2, 1, 3, 4, 5]


def test_item_knn() -> None:
    scores = SESSION_BASELINES["item_knn"](SESSIONS, 5)(np.array([3, 2]))
    # sessions with: 1 two, 2 four, 3 two, 4 one, 5 one; with 2 as well: all of them
    expected = [2 / np.sqrt(8), 0, 2 / np.sqrt(8), 1 / 2, 1 / 2]
    assert scores[1:] == pytest.approx(expected, abs=1e-5)
    assert ranking("item_knn", [3, 2]) == [1, 3, 4, 5, 2]


def test_scores_count_every_prediction() -> None:
    scores = score_baseline(
        SESSION_BASELINES["pop"](SESSIONS, 5), [np.array([3, 2]), np.array([2, 5, 1])], SessionScores()
    )
    assert scores["recall_at_10"] == 100
    assert scores["mrr_at_10"] == pytest.approx(100 * (1 + 1 / 5 + 1 / 4) / 3)  # 1 ties with two
    assert "nll" not in scores


def test_a_run_leaves_its_scores(tmp_path: Path) -> None:
    places = {"results_dir": str(tmp_path / "results"), "output_dir": str(tmp_path / "runs")}
    usual = build_session_paper_experiment("hcrnn", "hcrnn1").copy_with(
        recipe="session_floors", commit="0123abc", **places
    )
    run = CountedSessions(SESSION_RECOMMENDATION, CountedSessions.build_experiment(usual, "markov"))
    execute(run)
    result = read_result(run.results_file)
    assert set(result.metrics) == {f"test/{name}_at_{k}" for name in ("recall", "mrr", "ndcg") for k in (10, 20)}
    assert result.metrics["test/recall_at_20"] > 80


@pytest.mark.parametrize(("baseline", "recall"), [("pop", 46.57), ("markov", 52.94)])
def test_those_of_events_leave_their_scores(baseline: str, recall: float, tmp_path: Path) -> None:
    assert set(EVENT_BASELINES) == {"pop", "markov"}
    places = {"results_dir": str(tmp_path), "output_dir": str(tmp_path / "runs")}
    usual = build_event_paper_experiment("time_encoder", "lste").copy_with(
        recipe="badges_lste", commit="0123abc", **places
    )
    one = CountedEvents(NEXT_EVENT, CountedEvents.build_experiment(usual, baseline))
    result = execute(one)
    assert result.metrics["test/recall_at_1"] == pytest.approx(recall, abs=0.01)
    assert read_result(one.results_file).metrics == pytest.approx(result.metrics, rel=1e-5)


@pytest.mark.data
@pytest.mark.parametrize(
    ("baseline", "ties", "recall", "rank"),
    [
        ("pop", "optimistic", 5.78, 1.44),
        ("session_pop", "optimistic", 3.13, 0.38),
        ("markov", "optimistic", 21.58, 7.18),
        ("pop", "pessimistic", 5.78, 1.43),
        ("markov", "pessimistic", 21.32, 7.07),
    ],
)
def test_the_bars_on_citeulike(baseline: str, ties: Ties, recall: float, rank: float) -> None:
    """With ties counted as the authors do they are those that were measured elsewhere; the default is stricter."""
    data = SessionDataModule(SESSION_DATASETS["citeulike"])
    data.setup()
    scorer = SESSION_BASELINES[baseline](data.sequences("train"), len(data.names))
    scores = score_baseline(scorer, data.sequences("test"), SessionScores(ties))
    assert (round(scores["recall_at_20"], 2), round(scores["mrr_at_20"], 2)) == (recall, rank)
