"""The tables of regression: splits, protocols apart, and the test beside dot products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from ctxzoo.tasks.regression.data import BEST_TEST
from reports.tables_regression import best_of_all_epochs, chosen_on_validation
from tests.support.result_tables import make_run, rows


def made(variant: str, error: float, fold: int, **changes: Any) -> RunResult:
    values = {"recipe": "regression_ika", "tag": "airline", "fold": fold, "metrics": {"test/rmse": error}}
    return replace(make_run(variant, 0), **{**values, **changes})


def test_errors_over_splits_and_their_difference() -> None:
    results = [made("dot", 20.0 + fold % 2, fold) for fold in range(10)]
    results += [made("ika", 18.0, fold) for fold in range(2)]
    text = chosen_on_validation(results)
    table = rows(text)
    assert table["`dot`"]["airline"] == "20.50 ± 0.53"
    assert table["`ika`"]["airline"] == "18.00 ± 0.00 (2 of 10)"
    assert table["`ika` − `dot`"]["airline"].startswith("-2.50 (p = ")
    assert table["`mikan` − `dot`"]["airline"] == "–"
    assert "--dataset airline --models mean ridge gp_rbf gp_sm rbf ikan_direct ika mikan --resume" in text


def test_the_protocol_that_chooses_on_test_stands_apart() -> None:
    results = [made("dot", 20.0, 0), made("dot", 9.0, 0, tag=f"airline-{BEST_TEST}")]
    assert rows(chosen_on_validation(results))["`dot`"]["airline"] == "20.00 (1 of 10)"
    assert rows(best_of_all_epochs(results))["`dot`"]["airline"] == "9.00 (1 of 10)"


def test_a_split_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        chosen_on_validation([made("dot", 20.0, 0), made("dot", 21.0, 0)])
