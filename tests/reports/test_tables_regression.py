"""The tables of regression: splits, protocols apart, and the test beside dot products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from ctxzoo.tasks.regression.experiments import BEST_TEST
from reports.tables_encoders import best_of_all_epochs, chosen_on_validation, unseen_persons
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


def test_rows_of_persons_and_whole_persons_stand_apart() -> None:
    results = [made("gp_rbf", 0.5, 0, tag="parkinsons"), made("gp_rbf", 9.0, 0, tag="parkinsons-persons")]
    results += [made("gp_rbf", 0.25, fold, tag="parkinsons-person_and_time") for fold in range(10)]
    text = unseen_persons(results)
    table = rows(text)
    process = table["Gaussian process, RBF"]
    assert process["rows of any person"] == "0.50 (1 of 10)"
    assert process["all rows of four persons"] == "9.00 (1 of 10)"
    alone = table["Gaussian process, RBF, of person and time alone"]
    assert alone["rows of any person"] == "0.25 ± 0.00"
    assert "--group_column x0 --name persons --resume" in text
    assert "--feature_columns" not in text  # all ten are there


def test_a_split_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        chosen_on_validation([made("dot", 20.0, 0), made("dot", 21.0, 0)])
