"""Files of rows: Parquet, JSON lines, and columns set apart by commas or tabs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ctxzoo.data.sources import DatasetFileError
from ctxzoo.data.text_files import json_object, read_utf8


def read_parquet(path: Path) -> pa.Table:
    """Return the rows of a Parquet file.

    Raises:
        DatasetFileError: it cannot be read.
    """
    try:
        return pa.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DatasetFileError(f"{path} cannot be read: {error}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the object of each line of a file; empty lines count for nothing.

    Raises:
        DatasetFileError: not UTF-8; a line is not JSON or no object, and is named.
        OSError: it cannot be read.
    """
    lines = read_utf8(path).split("\n")
    return [json_object(line, f"{path}, line {n}") for n, line in enumerate(lines, start=1) if line.strip()]


def read_delimited(path: Path, text_columns: Sequence[str | None]) -> pa.Table:
    """Return the rows of a .csv file, with commas between columns, or of a .tsv file, with tabs; both have a header.

    Numbers are recognised, but not in the columns of texts.

    Args:
        path: the file.
        text_columns: names of columns of texts, should they be there.

    Raises:
        DatasetFileError: not UTF-8; a line has other columns than the header; semicolons between columns; a name twice.
        OSError: it cannot be read.
    """
    read_utf8(path)
    parse = pa.csv.ParseOptions(delimiter="," if path.suffix.lower() == ".csv" else "\t", newlines_in_values=True)
    try:
        with pa.csv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        if len(names) == 1 and ";" in names[0] and parse.delimiter == ",":
            raise DatasetFileError(
                f"{path}: its columns are set apart by semicolons; save it with commas, or as .tsv with tabs"
            )
        refuse_repeated(path, names)
        texts = [name for name in text_columns if name in names]
        convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
        return pa.csv.read_csv(path, parse_options=parse, convert_options=convert)
    except pa.ArrowException as error:
        hint = "; put a text that holds the separator in quotes" if " columns, got " in str(error) else ""
        raise DatasetFileError(f"{path} cannot be read: {error}{hint}") from error


def refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Refuse a file in which several columns have one name.

    Raises:
        DatasetFileError: there is such a name, which the message tells.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DatasetFileError(f"{path}: several columns are called {repeated[0]!r}; give each a name of its own")
