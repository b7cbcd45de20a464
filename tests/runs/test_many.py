"""Folds side by side: which result belongs to which row, and what the printed table compares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxzoo.results.result import RunResult
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, RunArgs
from ctxzoo.runs.many import print_outcomes, run_in_parallel, run_rows
from ctxzoo.tasks.text_classification.card import CARD as TEXT_CLASSIFICATION
from ctxzoo.tasks.text_classification.linear import build_linear_experiment
from tests.support.plain_run import PlainRun
from tests.support.result_tables import make_folds

SCORES = {"mean": [79.0, 79.5, 79.5, 80.0, 80.0], "ours": [80.0, 81.5, 79.0, 82.0, 80.5]}


def job(row: str, fold: int) -> PlainRun:
    model = ModelArgs(architecture="a", variant=row)
    places = RunArgs(results_dir="results")
    return PlainRun(Experiment(problem="p", recipe="r", data=DataArgs(dataset="d"), model=model, run=places, fold=fold))


def work(run: PlainRun) -> RunResult:
    fold = run.experiment.fold
    assert fold is not None
    return replace(make_folds(SCORES[run.variant])[fold], variant=run.variant)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_results_belong_to_their_row(processes: int, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {f"the {row}": [job(row, fold) for fold in range(2)] for row in SCORES}
    found = run_in_parallel(runs, work, processes=processes)
    assert list(found) == list(runs)
    for row, scores in SCORES.items():
        told = {(one.variant, one.fold, one.metrics["test/accuracy"]) for one in found[f"the {row}"]}
        assert told == {(row, 0, scores[0]), (row, 1, scores[1])}
    assert "the ours, seed 0, fold 1: 81.50" in capsys.readouterr().err


def test_two_rows_with_the_same_files_are_refused() -> None:
    with pytest.raises(ValueError, match="'a' and 'b' would both write results/r/mean-d-test-seed0-fold0"):
        run_in_parallel({"a": [job("mean", 0)], "b": [job("mean", 0)]}, work, processes=1)


def test_two_rows_of_one_name_are_refused() -> None:
    one = build_linear_experiment("r")
    with pytest.raises(ValueError, match=r"rows must have names of their own, got \['CR', 'CR'\]"):
        run_rows(lambda _: pytest.fail("it began"), [("CR", one), ("CR", one)], (), "title")


def test_rows_are_compared_with_the_first_on_the_same_data(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    subj = {"dataset": "SetFit/subj"}
    outcomes = {
        "CR, mean": make_folds(SCORES["mean"]),
        "SUBJ, mean": make_folds(SCORES["mean"], **subj),
        "CR, ours": make_folds(SCORES["ours"]),
        "SUBJ, ours": make_folds(SCORES["mean"], **subj),
    }
    print_outcomes(outcomes, "title", TEXT_CLASSIFICATION)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert ["(p = " in line for line in lines] == [False, False, True, True]
    assert "79.60 ± 0.42" in lines[0]
    assert "77.60 ± 0.42" in lines[0]
    assert "+1.00 (p = 0.233)" in lines[2]
    assert "+0.00 (p = 1.000)" in lines[3]


def test_without_rows_to_compare_there_is_no_such_column(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = {"CR": make_folds(SCORES["mean"]), "other": make_folds(SCORES["mean"], dataset="other")}
    print_outcomes(outcomes, "title", TEXT_CLASSIFICATION)
    printed = capsys.readouterr().out
    assert "CR" in printed
    assert "difference" not in printed
