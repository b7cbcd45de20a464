"""Intervals of fractions of right answers: over test rows, and over the clusters that they come in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ctxzoo.results.intervals import compute_clustered_interval, compute_score_interval
from tests.support.result_tables import make_run


def test_questions_of_one_article_are_no_repetitions() -> None:
    """Clusters that are all alike leave no doubt, however few; equal sizes give the t-interval of their shares."""
    assert compute_clustered_interval([6, 12], [10, 20]) == pytest.approx((0.6, 0.6))
    shares = [0.5, 0.7, 0.6, 0.9]
    expected = stats.t.interval(0.95, 3, loc=np.mean(shares), scale=stats.sem(shares))
    assert compute_clustered_interval([100 * share for share in shares], [100] * 4) == pytest.approx(expected)


def test_rows_give_wilsons_interval_and_articles_that_of_clusters() -> None:
    run = make_run("baseline", metrics={"test/accuracy": 90.0})
    low, high, rows = compute_score_interval(run, "accuracy", 200) or (0, 0, "")
    z, share, n = stats.norm.ppf(0.975), 0.9, 200  # Wilson (1927): the shares from which this one is z errors away
    centre, reach = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    assert [low, high] == pytest.approx(
        [100 * (centre - reach) / (1 + z**2 / n), 100 * (centre + reach) / (1 + z**2 / n)]
    )
    assert rows == "200 test rows"
    assert compute_score_interval(run, "accuracy") is None
    assert compute_score_interval(run, "recall", 200) is None
    articles = {"test/articles/exact": [6.0, 12.0], "test/articles/questions": [10.0, 20.0]}
    run = make_run("baseline", metrics={"test/exact": 60.0, "test/total": 30.0}, per_example=articles)
    assert compute_score_interval(run, "exact") == (pytest.approx(60), pytest.approx(60), "2 articles")
    one = {name: values[:1] for name, values in articles.items()}
    alone = make_run("baseline", metrics={"test/exact": 60.0, "test/total": 30.0}, per_example=one)
    assert compute_score_interval(alone, "exact") is None
    assert compute_score_interval(make_run("baseline", metrics={"test/exact": 0.0, "test/total": 0.0}), "exact") is None
