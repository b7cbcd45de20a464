"""The README's table: the best of each kind, the best of a row in bold, and no number that its page does not have."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_overview import SYSTEMS, Model, System, make_overview_table
from tests.support.committed_results import committed_results
from tests.support.result_tables import make_run, rows

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = System(
    page="docs/results/bidaf.md",
    purpose="questions",
    paper="Patel 2022",
    dataset="ctxzoo-data/squad_v1_mini",
    key="test/f1",
    ours=Model("BiDAF", "squad_bidaf", "char7"),
    simple=[Model("window", "squad_bidaf", "window"), Model("counts", "squad_bidaf", "counts")],
    networks=[Model("LSTM", "squad_bidaf", "lstm")],
)
RUNS = [
    *(make_run("char7", seed, f1) for seed, f1 in enumerate((60.0, 62.0))),
    make_run("window", f1=20.0),
    make_run("counts", f1=30.0),
    make_run("lstm", f1=61.5),
]


def test_a_row_has_the_best_of_each_kind_and_the_best_of_all_in_bold() -> None:
    name, *cells = SYSTEM.write_row(RUNS)
    assert name == "[BiDAF](docs/results/bidaf.md)"
    assert cells == ["questions", "61.00 ± 1.41", "counts 30.00", "LSTM **61.50**", "Patel 2022"]


def test_what_stands_beside_is_chosen_on_validation_where_all_have_a_score_there() -> None:
    chosen = make_run("window", f1=20.0, metrics={"validation/f1": 90.0})
    runs = [run for run in RUNS if run.variant != "window"]
    assert SYSTEM.write_row([*runs, chosen])[3] == "window 20.00"
    counts = make_run("counts", f1=30.0)
    del counts.metrics["validation/f1"]
    assert SYSTEM.write_row([*(run for run in runs if run.variant != "counts"), counts, chosen])[3] == "counts 30.00"


def test_where_a_lower_score_is_better_the_lowest_is_the_best() -> None:
    cells = replace(SYSTEM, lower=True).write_row(RUNS)[2:5]
    assert cells == ["61.00 ± 1.41", "window **20.00**", "LSTM 61.50"]


@pytest.mark.parametrize(
    "other",
    [
        make_run("counts", f1=90.0, dataset="ctxzoo-data/squad_v2_mini"),
        make_run("counts", f1=90.0, tag="another"),
        make_run("counts", f1=90.0, recipe="another"),
        make_run("counts", f1=90.0, settings={"tiny": True}),
    ],
)
def test_runs_of_other_data_settings_and_recipes_stand_beside_nothing(other: RunResult) -> None:
    assert SYSTEM.write_row([*RUNS, other]) == SYSTEM.write_row(RUNS)


def test_what_was_not_run_has_no_score() -> None:
    assert SYSTEM.write_row([])[2:5] == ["not run yet", "–", "–"]
    assert SYSTEM.write_row([run for run in RUNS if run.variant != "lstm"])[2:5] == [
        "**61.00 ± 1.41**",
        "counts 30.00",
        "–",
    ]


def test_a_seed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two results for counts"):
        SYSTEM.write_row([*RUNS, make_run("counts", f1=31.0)])


def test_every_model_is_run_and_the_page_of_the_row_has_its_scores() -> None:
    """So a row whose label or data is mistaken is found: its page is made from the same files, by other code."""
    results = list(committed_results())
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert len(rows(make_overview_table(results))) == len(SYSTEMS) == 12
    for system in SYSTEMS:
        scores = re.findall(r"\d+\.\d+(?: ± \d+\.\d+)?", " ".join(system.write_row(results)[2:5]))
        assert f" {scores[0]} " in (ROOT / system.page.partition("#")[0]).read_text("utf-8"), system.page
        assert [score for score in scores if f" {score} " not in pages] == []
        for model in (system.ours, *system.simple, *system.networks):
            assert replace(system, ours=model).write_row(results)[2] != "not run yet", model
