"""Cells and Markdown of generated tables."""

from __future__ import annotations

import pytest

from ctxzoo.results.table_parts import (
    add_plus_sign,
    append_commands,
    find_best_epoch,
    format_markdown_table,
    format_mean_and_deviation,
    format_setting_changes,
    format_wall_minutes,
    make_best_epoch_column,
    make_seconds_column,
    refuse_repeated_runs,
    refuse_runs_of_different_settings,
)
from tests.support.result_tables import make_run


def test_mean_and_sample_deviation() -> None:
    assert format_mean_and_deviation([40.0]) == "40.00"
    assert format_mean_and_deviation([40.0, 43.0]) == "41.50 ± 2.12"
    assert format_mean_and_deviation([0.5, 0.6], 3) == "0.550 ± 0.071"
    assert format_mean_and_deviation([40.0, None]) == "–"
    assert format_mean_and_deviation([]) == "–"


def test_numbers_have_their_sign() -> None:
    assert [add_plus_sign(shown) for shown in ("1.00 ± 0.50", "-1.00", "–")] == ["+1.00 ± 0.50", "-1.00", "–"]


def test_minutes_on_a_gpu_are_not_averaged_with_others() -> None:
    h200, both = ({"cpu": "Some CPU", "gpus": gpus} for gpus in (["NVIDIA H200"], ["NVIDIA H200", "Other"]))
    runs = [
        make_run(wall_seconds=360.0, hardware=h200),
        make_run(wall_seconds=1200.0),
        make_run(wall_seconds=480.0, hardware=h200),
        make_run(wall_seconds=2.9, hardware=both),
        make_run(wall_seconds=1800.0, hardware={"cpu": "Some CPU", "gpus": []}),
    ]
    assert format_wall_minutes(runs) == "25, H200: 7.0, H200 + Other: < 0.1"


def test_markdown_fills_short_rows_and_keeps_bars_in_their_cells() -> None:
    lines = format_markdown_table(["a", "b", "c"], [["x|y"], ["1", "2", "3"]]).splitlines()
    assert lines == ["| a | b | c |", "| --- | ---: | ---: |", "| x\\|y |  |  |", "| 1 | 2 | 3 |"]


def test_commands_stand_below_a_table() -> None:
    assert append_commands("table", ["one", "two"]) == "table\n\n```bash\none\ntwo\n```"
    assert append_commands("table", []) == "table"


def test_a_run_is_counted_once() -> None:
    refuse_repeated_runs([make_run(fold=0), make_run(fold=1), make_run(seed=2, fold=0)])
    with pytest.raises(ValueError, match="two results for baseline on ctxzoo-data/squad_v1_mini with seed 1, fold 1"):
        refuse_repeated_runs([make_run(fold=0), make_run(fold=1), make_run(fold=1, f1=3.0)])


def test_changed_settings_of_several_columns_say_to_which_they_belong() -> None:
    plain = make_run(settings={"dropout": 0.0, "bound": 1.0})
    narrow, wide = (make_run(settings={"dropout": 0.5, "bound": bound}) for bound in (0.1, 0.5))
    assert format_setting_changes({"MR": (narrow, plain), "CR": (narrow, plain)}) == " (bound 0.1, dropout 0.5)"
    found = format_setting_changes({"MR": (narrow, plain), "CR": (narrow, plain), "MPQA": (wide, plain)})
    assert found == " (dropout 0.5; for MR, CR: bound 0.1; for MPQA: bound 0.5)"
    assert format_setting_changes({"MR": (narrow, plain), "CR": (plain, plain)}) == " (for MR: bound 0.1, dropout 0.5)"
    assert format_setting_changes({"MR": (plain, plain)}) == ""


def test_a_mean_is_of_runs_that_were_made_alike() -> None:
    refuse_runs_of_different_settings([make_run(seed=1), make_run(seed=2)])
    with pytest.raises(ValueError, match=r"were not made alike: seed 2, fold None differs from .* in batch_size"):
        refuse_runs_of_different_settings([make_run(seed=1), make_run(seed=2, settings={"batch_size": 32})])
    with pytest.raises(ValueError, match=r"differs from .* in data"):
        refuse_runs_of_different_settings(
            [make_run(seed=1), make_run(seed=2, data={"source": "x", "fingerprint": "ff"})]
        )


def test_the_best_epoch_is_that_of_the_best_validation() -> None:
    by_epoch = {f"validation/epoch{epoch}/nll": value for epoch, value in ((1, 9.0), (2, 7.5), (10, 8.0))}
    run = make_run(metrics={**by_epoch, "validation/epoch3/other_nll": 1.0, "epochs": 10}, wall_seconds=60.0)
    assert find_best_epoch(run, "nll", higher=False) == 2
    assert find_best_epoch(run, "nll", higher=True) == 1
    assert find_best_epoch(make_run(), "nll", higher=True) is None
    assert make_best_epoch_column("nll", higher=False).show([run, run]) == "2 ± 0"
    assert make_seconds_column().show([run]) == "6"
    assert make_seconds_column(1).show([run, make_run(metrics={"epochs": None})]) == "–"
