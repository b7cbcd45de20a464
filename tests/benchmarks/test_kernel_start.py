"""The benchmark of where kernels start: it runs, and a gate starts at the stock attention."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.kernel_start import KERNELS, PEER, UNIFORM, format_kernel_start_table, main
from benchmarks.reporting import read_rows


@pytest.mark.slow
def test_it_runs_and_its_tables_have_every_kernel(tmp_path: Path) -> None:
    main(["--quick", "--out", str(tmp_path / "a.csv")])
    rows = read_rows(tmp_path / "a.csv")
    gated = [float(row["distance"]) for row in rows if row["part"] == "start" and row["attention"] == "mikan, gated"]
    assert len(gated) == 4
    assert max(gated) < 1e-5
    text = format_kernel_start_table(rows)
    for name in (*KERNELS, UNIFORM, PEER):
        assert f"| {name} |" in text
