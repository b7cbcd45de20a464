"""The benchmark of the service: both sides answer, rows are those of predict, and malformed requests are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reporting import read_rows
from benchmarks.serving import CLIENTS, format_serving_table, main


@pytest.mark.slow
def test_both_services_answer(tmp_path: Path) -> None:
    rows = read_rows(main(["--quick", "--output", str(tmp_path / "rows.csv")]))
    assert [int(row["clients"]) for row in rows] == [*CLIENTS, *CLIENTS]
    assert [row["equal_rows"] for row in rows] == ["40"] * len(CLIENTS) + [""] * len(CLIENTS)
    assert {row["refused"] for row in rows[: len(CLIENTS)]} == {"40"}
    assert "| one endpoint, one pipeline call | 32 |" in format_serving_table(rows)
