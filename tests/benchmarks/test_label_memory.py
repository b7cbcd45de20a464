"""The benchmark of many labels: its texts have every label, and a tiny training gives a row."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.label_memory import WORDS, format_label_memory_table, main, write_texts
from benchmarks.reporting import read_rows


def test_texts_have_every_label_alike(tmp_path: Path) -> None:
    write_texts(tmp_path / "texts.csv", 6, 60)
    with (tmp_path / "texts.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    assert Counter(row["label"] for row in rows) == {f"label {number}": 10 for number in range(6)}
    assert {len(row["text"].split()) for row in rows} == {WORDS}


@pytest.mark.slow
def test_a_tiny_training_gives_a_row(tmp_path: Path) -> None:
    output = main(["--labels", "2", "--texts", "60", "--tiny", "--output", str(tmp_path / "rows.csv")])
    (row,) = read_rows(output)
    assert (row["code"], row["labels"]) == ("now", "2")
    assert float(row["run_mb"]) > float(row["checkpoint_mb"]) > 0
    assert "| 2 | now |" in format_label_memory_table([row])
