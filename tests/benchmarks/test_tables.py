"""The README's tables are those of the results files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.import_time import IMPORTS, PEER
from benchmarks.reporting import read_rows, write_rows
from benchmarks.tables import DOCUMENT, RESULTS, TABLES, main, render


def test_readme_agrees_with_the_results() -> None:
    assert main(["--check"]) == 0, "run: python -m benchmarks.tables"


def test_every_table_and_every_results_file_is_shown() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"<!-- table: {name} -->" in text for name in TABLES)
    assert {file.stem for file in RESULTS.glob("*.csv")} <= set(TABLES)


def test_a_table_is_made_from_its_file(tmp_path: Path) -> None:
    rows = [
        {"imported": name, "median_seconds": value, "above_peer_seconds": value - 2.0, "aim_seconds": aim}
        for name, value, aim in ((PEER, 2.0, None), ("ctxzoo", 2.25, 0.3))
    ]
    write_rows(tmp_path / "import_time.csv", rows, "0123456789abcdef")
    text = "a\n<!-- table: import_time -->\nold\n<!-- /table: import_time -->\nb\n"
    made = render(text, tmp_path)
    assert "| ctxzoo | 2.25 | 0.25 | 0.3 |" in made
    day = read_rows(tmp_path / "import_time.csv")[0]["created"][:10]
    assert f"commit 0123456789ab; measured {day}." in made
    assert "old" not in made
    assert made.startswith("a\n")
    assert made.endswith("\nb\n")
    assert render(made, tmp_path) == made


def test_rows_of_several_commits_and_days_are_told_and_of_several_machines_refused(tmp_path: Path) -> None:
    rows = [{"imported": PEER, "median_seconds": 2.0, "above_peer_seconds": 0.0, "aim_seconds": None}]
    file = tmp_path / "import_time.csv"
    write_rows(file, rows * 2, "0123456789abcdef")
    head, first, second = file.read_text().splitlines()
    text = "<!-- table: import_time -->\n<!-- /table: import_time -->\n"
    day = read_rows(file)[0]["created"][:10]
    later = second.replace("0123456789abcdef", "fedcba9876543210").replace(day, "2999-01-02")
    file.write_text("\n".join([head, first, later]) + "\n")
    assert f"commit 0123456789ab, fedcba987654; measured {day} to 2999-01-02." in render(text, tmp_path)
    found = read_rows(file)[0]["torch"]
    file.write_text("\n".join([head, first, second.replace(found, "1.0.0")]) + "\n")
    with pytest.raises(ValueError, match=r"import_time\.csv: rows with several values of 'torch'"):
        render(text, tmp_path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    text = "<!-- table: preparation -->\n<!-- /table: preparation -->\n"
    assert "Not measured yet." in render(text, tmp_path)


def test_broken_markers_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown table 'speed'"):
        render("<!-- table: speed -->\n<!-- /table: speed -->\n", tmp_path)
    with pytest.raises(ValueError, match="0 pairs of markers"):
        render("<!-- table: preparation -->\n", tmp_path)


def test_rows_with_different_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 sets of columns"):
        write_rows(tmp_path / "x.csv", [{"a": 1}, {"b": 1}], "unknown")
    assert not (tmp_path / "x.csv").exists()


def test_provenance_stands_in_every_row(tmp_path: Path) -> None:
    write_rows(tmp_path / "x.csv", [{"a": 1.23456789}, {"a": None}], "unknown")
    first, second = read_rows(tmp_path / "x.csv")
    assert first["a"] == "1.2346"
    assert second["a"] == ""
    assert all(row["commit"] == "unknown" and row["torch"] and row["cpu"] for row in (first, second))


def test_the_peer_comes_first() -> None:
    assert next(iter(IMPORTS)) == PEER
