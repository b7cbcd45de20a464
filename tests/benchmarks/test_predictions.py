"""The benchmark of predictions: both commands answer every text, and their rates stand beside each other."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from benchmarks.predictions import HEADLINES, format_predictions_table, generate_texts, main
from benchmarks.reporting import read_rows


def test_texts_are_a_few_headlines_each() -> None:
    texts = list(islice(generate_texts(["one", "two", "three"]), 5))
    assert {len(text.split()) for text in texts} == {HEADLINES}
    assert texts == list(islice(generate_texts(["one", "two", "three"]), 5))
    assert len(set(texts)) > 1


@pytest.mark.slow
def test_both_commands_label_every_text(tmp_path: Path) -> None:
    rows = read_rows(main(["--quick", "--output", str(tmp_path / "rows.csv")]))
    assert [row["command_measured"] for row in rows] == ["`ctxzoo predict`", "TF-IDF and linear SVM"]
    assert float(rows[0]["ratio"]) == pytest.approx(
        float(rows[0]["texts_per_second"]) / float(rows[1]["texts_per_second"]), rel=1e-3
    )
    assert float(rows[0]["peak_memory_mb"]) > 100
    assert "| `ctxzoo predict` | 30 |" in format_predictions_table(rows)
