"""The benchmark of streams: its rows are what the problems read, and a short training gives a row."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import streaming
from benchmarks.reporting import read_rows
from benchmarks.streaming import SCORES, format_streaming_table, main, write_generated_rows


@pytest.mark.parametrize("problem", SCORES)
def test_so_many_rows_are_written_and_more_of_them_begin_alike(tmp_path: Path, monkeypatch, problem) -> None:
    monkeypatch.setattr(streaming, "AT_ONCE", 100)
    write_generated_rows(tmp_path / "few", problem, 150)
    write_generated_rows(tmp_path / "more", problem, 250)
    few, more = (pq.read_table(tmp_path / name) for name in ("few", "more"))
    assert (len(few), len(more)) == (150, 250)
    assert few.slice(0, 100).to_pylist() == more.slice(0, 100).to_pylist()


@pytest.mark.slow
def test_a_short_training_gives_a_row_for_each_mode_and_a_picture(tmp_path: Path) -> None:
    words = ["--rows", "300", "--problems", "session-recommendation", "--steps", "3"]
    output = main([*words, "--folder", str(tmp_path), "--output", str(tmp_path / "rows.csv")])
    rows = read_rows(output)
    assert [(row["mode"], row["rows"], row["steps"]) for row in rows] == [
        ("streaming", "300", "3"),
        ("in memory", "300", "3"),
    ]
    assert all(0 < float(row["seconds_before_training"]) < float(row["seconds"]) for row in rows)
    assert "| session-recommendation | streaming | 300 |" in format_streaming_table(rows)
    assert (tmp_path / "rows.png").is_file()
