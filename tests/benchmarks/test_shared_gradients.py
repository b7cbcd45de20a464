"""The benchmark of shared gradients: it runs, both sides end alike, and rows are less than tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import shared_gradients
from benchmarks.reporting import read_rows


@pytest.mark.slow
def test_it_runs_and_rows_are_less_than_tables(tmp_path: Path) -> None:
    rows = read_rows(shared_gradients.main(["--quick", "--output", str(tmp_path / "measured.csv")]))
    sent = {row["gradients"]: float(row["megabytes_sent"]) for row in rows}
    assert sent.keys() == shared_gradients.SIDES.keys()
    # A table of 2,002 words and one of outputs, of 100 numbers in 4 bytes each.
    assert sent["whole tables"] == pytest.approx(2 * 2002 * 100 * 4 / 1e6, rel=0.2)
    assert sent["rows that are read"] > 0
    assert "| whole tables | 2,000 |" in shared_gradients.format_shared_gradients_table(rows)


def test_a_quick_run_is_kept_nowhere() -> None:
    with pytest.raises(SystemExit):
        shared_gradients.main(["--quick"])
