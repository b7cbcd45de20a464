"""Declared tables: which runs a cell has, what is compared, what is said of runs that are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.results_table import Column, Difference, Row, Table
from reports.run_selection import list_run_names, select_alike_runs, select_runs
from reports.score_columns import compare_over_seeds, score_column
from tests.support.result_tables import make_run, rows


def run(variant: str, f1: float = 40.0, seed: int = 1, **changes: Any) -> RunResult:
    return make_run(variant, seed, f1, **changes)


F1 = score_column("F1", "test/f1", minus=compare_over_seeds("test/f1"))
PLACE = {"recipe": "squad_bidaf", "tag": ""}


def test_runs_are_selected_by_fields_entries_and_the_parts_of_a_tag() -> None:
    runs = [
        run("a", tag="set-slow", settings={"window": 5}),
        run("a", tag="set", settings={"window": 5}),
        run("a", tag="slow"),
        run("b", tag="set-slow", settings={"window": 5}),
        run("a", tag="set-slow", settings={"window": 5, "tiny": True}),
    ]
    assert select_runs(runs, {"variant": "a", "settings.window": 5, "part": "set", "name": "slow"}) == [runs[0]]
    assert select_runs(runs, {"variant": "a", "part": "set", "name": ""}) == [runs[1]]
    assert select_runs(runs, {"variant": "a", "name": "slow"}) == [runs[2]]
    assert list_run_names(runs, {"variant": "a"}, "set") == ["slow"]
    assert list_run_names([*runs, run("a")], {"variant": "a"}) == ["set", "set-slow", "slow"]


def test_runs_of_one_mean_are_there_once_and_alike() -> None:
    with pytest.raises(ValueError, match="two results for a"):
        select_alike_runs([run("a"), run("a", 50.0)], {"variant": "a"})
    with pytest.raises(ValueError, match="were not made alike"):
        select_alike_runs([run("a"), run("a", seed=2, settings={"epochs": 9})], {"variant": "a"})


def test_a_row_without_runs_says_so_once_and_its_command_names_all_that_are_missing() -> None:
    command = "python recipes/x.py --models {missing}"
    made = [Row(name, {"variant": name}, need=2, command=command) for name in "abc"]
    table = Table(("seeds", F1), made, where=PLACE)
    text = table([run("a"), run("a", seed=2), run("b")])
    assert rows(text)["b"] == {"seeds": "1 of 2", "F1": "40.00"}
    assert rows(text)["c"] == {"seeds": "not run yet", "F1": ""}
    assert "--models b c --results_dir results" in text
    assert "```" not in table([run(name, seed=seed) for name in "abc" for seed in (1, 2)])


def test_columns_with_runs_of_their_own_ask_for_these_alone() -> None:
    columns = [score_column(name, "test/f1", where={"part": name}, fill={"set": name}) for name in ("one", "two")]
    columns.append(score_column("other", "test/f1", where={"part": "other"}))  # asks for nothing
    command = "python recipes/x.py --set {set} --models {missing}"
    made = [Row(name, {"variant": name}, command=command) for name in "ab"]
    text = Table(columns, made, where=PLACE)([run("a", tag="two")])
    assert rows(text)["a"] == {"one": "not run yet", "two": "40.00", "other": "not run yet"}
    commands = [line for line in text.splitlines() if line.startswith("python")]
    assert [line.removesuffix(" --results_dir results").partition("--set ")[2] for line in commands] == [
        "one --models a b",
        "two --models b",
    ]


def test_differences_stand_in_columns_that_have_a_test() -> None:
    both = [run(name, f1 + seed, seed) for name, f1 in (("a", 24.0), ("b", 20.0)) for seed in (0, 1)]
    ours, base, none = ({"variant": name} for name in "abc")
    made = [
        Difference("a − b", ours, base),
        Difference("a − c", ours, none),
        Difference("left out", none, base, optional=True),
    ]
    columns = (score_column("EM", "test/exact"), F1, score_column("validation", "validation/f1"))
    assert rows(Table(columns, made, where=PLACE)(both)) == {
        "a − b": {"EM": "–", "F1": "+4.00 (p = 0.030)", "validation": ""},
        "a − c": {"EM": "–", "F1": "–", "validation": ""},
    }


def test_a_column_of_differences_compares_a_row_with_its_base() -> None:
    gain = Column("gain", minus=compare_over_seeds("test/f1"))
    named = replace(run("a", 43.0), tag="slow", settings={**run("a").settings, "epochs": 9})
    made = [Row("plain", {}), Row("slow", {"name": "slow"}, base={"name": ""}, beside={"name": ""})]
    table = Table((F1, gain), made, where={**PLACE, "variant": "a"}, headings=("settings",))
    assert rows(table([run("a"), named])) == {
        "plain": {"F1": "40.00", "gain": "–"},
        "slow (epochs 9)": {"F1": "43.00", "gain": "+3.00 (one seed)"},
    }


def test_given_cells_columns_that_a_row_has_and_totals() -> None:
    columns = (
        score_column("one", "test/f1", where={"part": "one"}),
        score_column("two", "test/f1", where={"part": "two"}),
        Column("paper"),
        Column("runs", total=lambda cells: str(max(map(len, cells)))),
    )
    made = [
        Row("a", {"variant": "a"}, given={"paper": "41.0"}),
        Row("b", {"variant": "b"}, only=("two",), absent="none"),
        Row("c", {"variant": "c"}, optional=True),
        Row("each its own", lambda column: [run("d", 9.0)] if column.heading == "one" else [], absent="–"),
        ["text", "1", "2"],
    ]
    found = rows(Table(columns, made, where=PLACE)([run("a", tag="one")]))
    assert {label: list(cells.values()) for label, cells in found.items()} == {
        "a": ["40.00", "not run yet", "41.0", "1"],
        "b": ["–", "none", "", ""],
        "each its own": ["9.00", "–", "–", "1"],
        "text": ["1", "2", "", ""],
    }
