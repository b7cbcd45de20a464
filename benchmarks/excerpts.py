"""Printed tables as CSV files, and the part of each that stands in benchmarks/README.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedTable:
    """A Markdown table with the paragraph above it.

    Attributes:
        title: Title of the paragraph above the table; empty where there is none.
        headings: Headings of the columns, from left to right.
        rule: Cells of the line below the headings, which say how columns are aligned.
        rows: Cells of each row.
    """

    title: str
    headings: list[str]
    rule: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Excerpt:
    """The part of a benchmark's tables that the document shows.

    Attributes:
        titles: Beginnings of the titles of the tables that are quoted; empty: all tables.
        rows: First cells of the rows that are quoted; empty: all rows.
        columns: Headings of the columns that are quoted; empty: all columns.
        passes: Whether rows of passes without gradients are left out, in tables with a column of passes.
    """

    titles: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    passes: bool = False


PASS, WITH_GRADIENTS = "pass", "forward and backward"


def parse_markdown_tables(text: str) -> tuple[list[PrintedTable], list[str]]:
    """Split a Markdown text into its tables, with their titles, and its remaining paragraphs."""
    tables: list[PrintedTable] = []
    paragraphs: list[str] = []
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith("| "):
            paragraphs.append(paragraph)
            continue
        headings, rule, *rows = ([*line[2:-2].split(" | ")] for line in paragraph.splitlines())
        titled = bool(paragraphs) and not paragraphs[-1].startswith(("![", "Not measured"))
        title = paragraphs.pop().replace("**", "").removesuffix(":") if titled else ""
        tables.append(PrintedTable(title, headings, rule, rows))
    return tables, paragraphs


def format_tables_as_csv(tables: Sequence[PrintedTable]) -> str:
    """Return tables as the text of one CSV file: the title in the first column, then the columns of all tables."""
    headings_of_tables = [[heading or "side" for heading in table.headings] for table in tables]
    columns = list(dict.fromkeys(heading for headings in headings_of_tables for heading in headings))
    titles = ["table"] if any(table.title for table in tables) else []
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*titles, *columns], restval="", lineterminator="\n")
    writer.writeheader()
    for table, headings in zip(tables, headings_of_tables, strict=True):
        for row in table.rows:
            writer.writerow({**dict.fromkeys(titles, table.title), **dict(zip(headings, row, strict=True))})
    return buffer.getvalue()


def format_excerpt(tables: Sequence[PrintedTable], part: Excerpt) -> str:
    """Return in Markdown those tables, rows and columns of a benchmark that `part` selects for the README.

    Raises:
        ValueError: A title, row or column is not in the tables.
    """
    shown_tables = [table for table in tables if table.title.startswith(part.titles or "")]
    first_cells = {row[0] for table in shown_tables for row in table.rows}
    missing = [title for title in part.titles if not any(table.title.startswith(title) for table in shown_tables)]
    missing += [row for row in part.rows if row not in first_cells]
    missing += [name for name in part.columns if not any(name in table.headings for table in shown_tables)]
    if missing:
        raise ValueError(f"no table, row or column {missing[0]!r}; tables: {[table.title for table in tables]}")
    return "\n\n".join(_format_markdown_excerpt(table, part) for table in shown_tables)


def _format_markdown_excerpt(table: PrintedTable, part: Excerpt) -> str:
    """Return one table in Markdown, with the rows and columns alone that `part` selects."""
    positions = [place for place, name in enumerate(table.headings) if not part.columns or name in part.columns]
    rows = [row for row in table.rows if not part.rows or row[0] in part.rows]
    if part.passes:
        rows = [row for row in rows if row[table.headings.index(PASS)] == WITH_GRADIENTS]
    lines = [f"| {' | '.join(line[place] for place in positions)} |" for line in (table.headings, table.rule, *rows)]
    return "\n".join([*([f"{table.title}:", ""] if table.title else []), *lines])
