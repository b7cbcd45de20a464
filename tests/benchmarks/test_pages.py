"""The benchmark of pages: its row of a checkpoint, and what the table says of the aim."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pages import format_pages_table, measure_page
from tests.support.tiny_checkpoints import write_lama


@pytest.mark.slow
def test_a_page_answers_as_often_as_it_is_asked(tmp_path: Path) -> None:
    row = measure_page("lama", write_lama(tmp_path / "lama"), 2)
    assert row["problem"] == "text-classification"
    assert 0 < float(str(row["seconds_of_an_answer"])) <= float(str(row["slowest_answer"]))


def test_the_table_says_whether_the_aim_is_reached() -> None:
    row = {"checkpoint": "a", "problem": "b", "seconds_until_up": "3.5", "slowest_answer": "2", "aim_seconds": "1"}
    table = format_pages_table([{**row, "seconds_of_an_answer": seconds} for seconds in ("1.0", "1.2")])
    assert "| a | b | 3.50 | 1.00 | 2.00 | reached |" in table
    assert "| a | b | 3.50 | 1.20 | 2.00 | missed |" in table
