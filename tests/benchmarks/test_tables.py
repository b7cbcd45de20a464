"""The README's tables are those of the results files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import sentences, tables
from benchmarks.excerpts import Excerpt, format_excerpt, format_tables_as_csv, parse_markdown_tables
from benchmarks.import_time import IMPORTS, PEER
from benchmarks.reporting import read_rows, write_rows
from benchmarks.tables import CSV_FOLDER, DOCUMENT, EXCERPTS, RESULTS, TABLES, format_csv_files, main, render_document


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
    made = render_document(text, tmp_path)
    assert "| ctxzoo | 2.25 | 0.25 | 0.3 |" in made
    day = read_rows(tmp_path / "import_time.csv")[0]["created"][:10]
    assert f"commit 0123456789ab; measured {day}; [2 rows](results/tables/import_time.csv)." in made
    assert "old" not in made
    assert made.startswith("a\n")
    assert made.endswith("\nb\n")
    assert render_document(made, tmp_path) == made


def test_rows_of_several_commits_and_days_are_told_and_of_several_machines_refused(tmp_path: Path) -> None:
    rows = [{"imported": PEER, "median_seconds": 2.0, "above_peer_seconds": 0.0, "aim_seconds": None}]
    file = tmp_path / "import_time.csv"
    write_rows(file, rows * 2, "0123456789abcdef")
    head, first, second = file.read_text().splitlines()
    text = "<!-- table: import_time -->\n<!-- /table: import_time -->\n"
    day = read_rows(file)[0]["created"][:10]
    later = second.replace("0123456789abcdef", "fedcba9876543210").replace(day, "2999-01-02")
    file.write_text("\n".join([head, first, later]) + "\n")
    assert f"commit 0123456789ab, fedcba987654; measured {day} to 2999-01-02; [2 rows]" in render_document(
        text, tmp_path
    )
    found = read_rows(file)[0]["torch"]
    file.write_text("\n".join([head, first, second.replace(found, "1.0.0")]) + "\n")
    with pytest.raises(ValueError, match=r"import_time\.csv: rows with several values of 'torch'"):
        render_document(text, tmp_path)


TWO = "![p](x.png)\n\n**Layers** (n = 1)\n\n| | pass |\n".replace("| |", "|  |") + (
    "| --- | ---: |\n| a | forward |\n| a | forward and backward |\n| b, c |  |\n\n"
    "Not measured: x.\n\n| setting | s |\n| --- | ---: |\n| d | 1 |"
)


def test_tables_of_several_columns_share_a_file() -> None:
    found, others = parse_markdown_tables(TWO)
    assert others == ["![p](x.png)", "Not measured: x."]
    assert format_tables_as_csv(found) == (
        "table,side,pass,setting,s\nLayers (n = 1),a,forward,,\nLayers (n = 1),a,forward and backward,,\n"
        'Layers (n = 1),"b, c",,,\n,,,d,1\n'
    )
    assert format_tables_as_csv(found[1:]) == "setting,s\nd,1\n"


def test_an_excerpt_has_the_rows_and_columns_that_it_names() -> None:
    found, _ = parse_markdown_tables(TWO)
    text = format_excerpt(found, Excerpt(("Layers",), ("a",), ("", "pass"), passes=True))
    assert text == "Layers (n = 1):\n\n|  | pass |\n| --- | ---: |\n| a | forward and backward |"
    assert format_excerpt(found[1:], Excerpt(columns=("s",))) == "| s |\n| ---: |\n| 1 |"
    for part in (Excerpt(("Other",)), Excerpt(rows=("z",)), Excerpt(columns=("z",))):
        with pytest.raises(ValueError, match="no table, row or column"):
            format_excerpt(found, part)
    assert set(EXCERPTS) <= set(TABLES)


def test_a_table_file_has_every_row_and_the_check_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"imported": name, "median_seconds": 2.0, "above_peer_seconds": 0.0, "aim_seconds": None} for name in "ab"]
    write_rows(tmp_path / "import_time.csv", rows, "0123456789abcdef")
    document = tmp_path / "README.md"
    document.write_text("<!-- table: import_time -->\n<!-- /table: import_time -->\n")
    files = format_csv_files(tmp_path)
    assert files[tmp_path / CSV_FOLDER / "import_time.csv"].splitlines()[1:] == ["a,2.00,0.00,", "b,2.00,0.00,"]
    monkeypatch.setattr(tables, "DOCUMENT", document)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tables, "format_csv_files", lambda: files)
    monkeypatch.setattr(tables, "render_document", lambda text: render_document(text, tmp_path))
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / CSV_FOLDER / "import_time.csv").write_text("other\n")
    assert main(["--check"]) == 1
    main([])
    (tmp_path / CSV_FOLDER / "gone.csv").write_text("of a benchmark that was removed\n")
    assert main(["--check"]) == 1


def test_a_sentence_has_the_number_of_its_row(tmp_path: Path) -> None:
    cells = [{"side": "ours", "ratio": 0.25, "seconds": 4.0}, {"side": "peer", "ratio": 1.0, "seconds": 1.0}]
    write_rows(tmp_path / "x.csv", [{**row, "threads": 2} for row in cells], "0123456789abcdef")
    sentence = sentences.Sentence("x", "It takes {times} times as long", {"side": "ours"}, longer=True)
    day = read_rows(tmp_path / "x.csv")[0]["created"][:10]
    said = f"- It takes 4.00 times as long on 2 CPU threads ({day}, 0123456789ab)."
    assert sentences.format_sentence(sentence, tmp_path) == said
    beside = sentences.Sentence("x", sentence.text, {"side": "peer"}, "seconds", {"side": "ours"})
    assert sentences.format_sentence(beside, tmp_path) == said
    with pytest.raises(ValueError, match=r"x\.csv: 2 rows have \{\}; expected one"):
        sentences.format_sentence(sentences.Sentence("x", "", {}), tmp_path)
    assert "not measured yet" in sentences.format_sentence(sentences.Sentence("y", "", {}), tmp_path)


def test_the_document_begins_with_ten_sentences() -> None:
    head = DOCUMENT.read_text(encoding="utf-8").partition("\n## ")[0]
    assert head.count("\n- ") == len(sentences.SENTENCES) == 10


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    text = "<!-- table: preparation -->\n<!-- /table: preparation -->\n"
    assert "Not measured yet." in render_document(text, tmp_path)


def test_broken_markers_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown table 'speed'"):
        render_document("<!-- table: speed -->\n<!-- /table: speed -->\n", tmp_path)
    with pytest.raises(ValueError, match="0 pairs of markers"):
        render_document("<!-- table: preparation -->\n", tmp_path)


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
