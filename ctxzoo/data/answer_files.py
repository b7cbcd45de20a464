"""What a model answers to rows, written beside the user's own columns: CSV, JSON lines or JSON, row by row."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ctxzoo.data.files import atomic_file, is_pipe_or_device
from ctxzoo.data.notices import format_count
from ctxzoo.data.rows import SEPARATORS, Row

OUTPUTS = (".csv", ".tsv", ".jsonl", ".json")
SECONDS_BETWEEN = (1, 10)  # two lines of progress on a terminal, and in a file


@dataclass(frozen=True)
class Answer:
    """What a model answers to one row.

    Attributes:
        fields: Fields of the answer, name to value; in a JSON line they follow the columns of the row.
        cells: Lines of a CSV file for this row, one or more, each from column name to number or text.
        alone: Value, text, number or list, that a .json file holds for the row in place of its columns.
        key: Key of this row in a .json file that is an object; None: the file is a list.
        replaced: Columns of the row that are left out of a CSV file because the cells repeat them.
    """

    fields: Mapping[str, Any]
    cells: Sequence[Mapping[str, Any]]
    alone: Any
    key: str | None = None
    replaced: frozenset[str] = frozenset()


def format_ranked_answer(candidates: Sequence[tuple[str, float]], item_name: str, left_out: int, alone: Any) -> Answer:
    """Return the answer to a row that asks for the likeliest items, as rows of CSV or as lists of JSON.

    Args:
        candidates: Names and probabilities, the most probable first; empty where the model knows nothing of the row.
        item_name: Noun in the singular for what is ranked, such as "item".
        left_out: Number of entries of the row that the model does not know.
        alone: Value, text, number or list, that a .json file holds for the row in place of its columns.
    """
    keys = (f"predicted_{item_name}", "probability")
    ranked = [dict(zip(keys, pair, strict=True)) for pair in candidates]
    blank = {"rank": None, **dict.fromkeys(keys)}
    cells = [{"left_out": left_out, "rank": rank, **one} for rank, one in enumerate(ranked, start=1)]
    return Answer({"left_out": left_out, "predicted": ranked}, cells or [{"left_out": left_out, **blank}], alone)


def format_json_line(row: Row, answer: Answer) -> str:
    """Return the row with its answer as one line of JSON.

    Raises:
        ValueError: a column of the row has the name of one of the answer.
    """
    return json.dumps(join_fields(row, answer), ensure_ascii=False, default=str)


def join_fields(row: Row, answer: Answer) -> dict[str, Any]:
    """Return the columns of the row, and behind them the fields of its answer.

    Raises:
        ValueError: a column of the row has the name of one of the answer.
    """
    _refuse_duplicate_columns(row, answer.fields)
    return {**row, **answer.fields}


def write_answers(
    chunks: Iterable[list[Row]],
    answer: Callable[[list[Row]], Sequence[Answer | None]],
    output: Path | None,
    *,
    kind: str = "jsonl",
) -> int:
    """Answer rows chunk by chunk and write each answer at once, so that the memory holds one chunk.

    Args:
        chunks: Rows in chunks, each a list.
        answer: Function from the rows of a chunk to their answers in the same order; None stands for a row that is left
            out.
        output: File to write, .csv, .tsv, .jsonl or .json, which appears only when it is complete; or a pipe or device;
            None: standard output.
        kind: Format where no file name determines it: "csv", "tsv" or "jsonl".

    Returns:
        The number of rows.

    Raises:
        ValueError: A column of the user has the name of one of the answer; a .csv file where a later row has a column
            of its own.
        OSError: The file cannot be written.
    """
    kind = (output and parse_answer_file_kind(output)) or kind
    progress = _ProgressLine()
    with _open_output_file(output) as file:
        write = _WRITERS[kind](file)
        for rows in chunks:
            answered_rows = [(row, one) for row, one in zip(rows, answer(rows), strict=True) if one is not None]
            for row, one in answered_rows:
                write(row, one)
            progress.count_answered_rows(len(answered_rows))
        write.finish()
    progress.finish()
    return progress.rows


def parse_answer_file_kind(output: Path) -> str:
    """Return the kind of file that the name says: "csv", "tsv", "jsonl" or "json"; "" for a pipe or device.

    Raises:
        ValueError: The name of a file says none.
    """
    kind = output.suffix.lower()
    if kind not in OUTPUTS and is_pipe_or_device(output):
        return ""
    if kind not in OUTPUTS:
        raise ValueError(f"--output {output}: expected a name that ends in {', '.join(OUTPUTS[:-1])} or {OUTPUTS[-1]}")
    return kind.removeprefix(".")


@contextmanager
def _open_output_file(output: Path | None) -> Iterator[IO[str]]:
    """Open the file for writing, or give the standard output for None; an unfinished file is not kept."""
    if output is None:
        yield sys.stdout
        return
    with atomic_file(output) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        yield text


class _JsonLinesWriter:
    """Writes an object on each line."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def __call__(self, row: Row, answer: Answer) -> None:
        """Write the row with its answer as one line of JSON."""
        self.file.write(format_json_line(row, answer) + "\n")

    def finish(self) -> None:
        """Write what ends the file behind the last answer: nothing in JSON lines."""


class _JsonWriter(_JsonLinesWriter):
    """Writes one list of all answers without their rows, or one object of them by their keys."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file)
        self.close = ""

    def __call__(self, row: Row, answer: Answer) -> None:
        """Write the answer as an entry of a JSON list, or of an object where answers have keys."""
        opening = ("[", "]") if answer.key is None else ("{", "}")
        self.file.write(",\n" if self.close else f"{opening[0]}\n")
        self.close = opening[1]
        name = "" if answer.key is None else f"{json.dumps(answer.key, ensure_ascii=False)}: "
        text = name + json.dumps(answer.alone, indent=1, ensure_ascii=False)
        self.file.write(" " + text.replace("\n", "\n "))

    def finish(self) -> None:
        """Close the list of answers, if the file is one, and write `[]` where there were none."""
        self.file.write(f"\n{self.close}\n" if self.close else "[]\n")


class _CsvWriter(_JsonLinesWriter):
    """Writes the columns of the first row, then those of its answer."""

    separator = SEPARATORS["csv"]

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file)
        self.writer = csv.writer(file, delimiter=self.separator, lineterminator="\n")
        self.columns: list[str] = []
        self.rows = 0

    def __call__(self, row: Row, answer: Answer) -> None:
        """Write the row with its answer, as a line for each of its cells; the first row begins with a header."""
        row = {name: value for name, value in row.items() if name not in answer.replaced}
        if not self.rows:
            self.columns = list(row)
            _refuse_duplicate_columns(row, answer.cells[0])
            self.writer.writerow([*row, *answer.cells[0]])
        self.rows += 1
        extra = next((name for name in row if name not in self.columns), None)
        if extra is not None:
            raise ValueError(
                f"row {self.rows - 1} of the answers has {extra!r}, which the first has not; write a .jsonl file, or "
                "give every row the same columns"
            )
        before = [_format_csv_cell(row.get(name)) for name in self.columns]
        for line in answer.cells:
            self.writer.writerow([*before, *map(_format_csv_cell, line.values())])


class _TsvWriter(_CsvWriter):
    separator = SEPARATORS["tsv"]


_WRITERS: dict[str, type[_JsonLinesWriter]] = {
    "jsonl": _JsonLinesWriter,
    "json": _JsonWriter,
    "csv": _CsvWriter,
    "tsv": _TsvWriter,
}


def _format_csv_cell(value: Any) -> Any:
    """Return lists, mappings and booleans as JSON, and any other value as it is."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (bool, list, dict)) else value


def _refuse_duplicate_columns(row: Row, answer: Mapping[str, Any]) -> None:
    """Raise ValueError where the user's row has a column of the name of an answer."""
    same = [name for name in answer if name in row]
    if same:
        raise ValueError(f"a column is called {same[0]!r} already, as that of the answers; rename it")


@dataclass
class _ProgressLine:
    """Says on the standard error how many rows are answered."""

    rows: int = 0
    began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    has_line: bool = False

    def count_answered_rows(self, rows: int) -> None:
        """Add `rows` to the count and print the progress, unless it was printed a moment ago."""
        self.rows += rows
        now, on_terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.told < SECONDS_BETWEEN[not on_terminal]:
            return
        self.told, self.has_line = now, on_terminal
        rate = self.rows / (now - self.began)
        line = f"{format_count(self.rows, 'rows')}, {rate:,.0f} a second"
        print(f"\r{line}" if on_terminal else line, end="" if on_terminal else "\n", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """End the line on the terminal, if there is one."""
        if self.has_line:
            print(file=sys.stderr)
