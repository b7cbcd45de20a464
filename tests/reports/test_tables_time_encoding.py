"""The table of time encodings: which runs stand where, what is missing, and the test over seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_encoders import BADGES, badges, badges_trials
from tests.support.result_tables import make_run, rows


def made(variant: str, recall: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {"test/recall_at_1": recall, "test/mrr_at_20": 60.0, "validation/recall_at_1": recall + 1, "epochs": 4}
    values = {"recipe": "badges_lste", "dataset": BADGES["dataset"], "tag": "", "metrics": metrics}
    return replace(make_run(variant, seed), **{**values, **changes})


def test_encodings_floors_and_what_is_missing() -> None:
    results = [made("markov", 44.42), *(made("none", 45.0 + seed, seed=seed) for seed in range(3)), made("lste", 47.0)]
    text = badges(results)
    table = rows(text)
    assert table["Markov: what follows the last event"]["test recall@1"] == "44.42"
    assert table["no times, no positions"]["test recall@1"] == "46.00 ± 1.00"
    assert table["LSTE"]["seeds"] == "1"
    (command,) = [line for line in text.splitlines() if line.startswith("python")]
    assert "--encodings positional bochner mercer time2vec lste lste_behaviour --seeds 0 1 2" in command


def test_lste_is_compared_over_seeds() -> None:
    results = [made("none", 20.0 + seed, seed=seed) for seed in (0, 1)]
    results += [made("lste", 24.0 + seed, seed=seed) for seed in (0, 1)]
    row = rows(badges(results))["LSTE − no times, no positions (p over seeds)"]
    assert row["test recall@1"] == "+4.00 (p = 0.030)"  # t = 4 / sqrt(1/2) with 2 degrees of freedom
    assert row["test MRR@20"] == "+0.00 (p = 1.000)"


def test_other_encodings_are_compared_with_none_at_all() -> None:
    results = [made(name, 20.0 + seed, seed=seed) for name in ("none", "bochner") for seed in (0, 1)]
    table = rows(badges(results))
    assert table["Bochner, tied − no times, no positions (p over seeds)"]["test recall@1"] == "+0.00 (p = 1.000)"
    assert "Bochner, tied − positions alone (p over seeds)" not in table


def test_a_seed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        badges([made("none", 45.0), made("none", 46.0)])


def test_trials_say_what_tells_them_apart_the_best_of_each_encoding_first() -> None:
    def tried(variant: str, recall: float, rate: float) -> RunResult:
        found = {"validation/recall_at_1": recall, "validation/mrr_at_20": 60.0, "validation/nll": 1.5}
        return made(variant, 0.0, metrics=found, settings={"learning_rate": rate, "epochs": 9})

    text = badges_trials([tried("lste", 46.0, 0.1), tried("lste", 47.0, 0.2), tried("none", 45.0, 0.1)])
    assert [line.split(" | ")[:3] for line in text.splitlines()[2:]] == [
        ["| no times, no positions", "learning_rate 0.1", "45.00"],
        ["| LSTE", "learning_rate 0.2", "47.00"],
        ["| LSTE", "learning_rate 0.1", "46.00"],
    ]
