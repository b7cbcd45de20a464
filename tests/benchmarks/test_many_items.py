"""The benchmark of many items: tiny ones give rows that the table shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.many_items import format_many_items_table, main
from benchmarks.reporting import read_rows


@pytest.mark.slow
def test_few_items_give_rows(tmp_path: Path) -> None:
    rows = read_rows(main(["--quick", "--output", str(tmp_path / "rows.csv")]))
    assert [(row["items"], row["sampled"]) for row in rows] == [
        *(("3000", "0"), ("3000", "2000")),
        *(("4000", "0"), ("4000", "2000")),
    ]
    assert all(float(row["step_ms"]) > 0 and float(row["recommendation_ms"]) > 0 for row in rows)
    assert "| 4,000 | 2,000 sampled |" in format_many_items_table(rows)
