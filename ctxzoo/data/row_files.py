"""Files of rows: Parquet, and JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
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
