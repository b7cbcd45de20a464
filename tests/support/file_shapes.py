"""One table of rows in every shape in which a person may have it; what stands in the rows is the same."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

Row = Mapping[str, Any]

TABLES = ("csv", "crlf", "bom", "quoted", "tsv", "gz", "turned", "headless", "jsonl", "parquet", "folder")


def write_shape(shape: str, rows: Sequence[Row], folder: Path, name: str = "rows") -> Path:
    """Write the rows in one of `TABLES`, and return the file or folder.

    csv; with the line ends of Windows, or its byte order mark; with every field in quotes; with tabs; packed by gzip;
    with its columns in the opposite order, and one more; without a header; as JSON lines; Parquet; a folder of it.
    """
    names = list(rows[0])
    if shape == "jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return _write(folder / f"{name}.jsonl", text.encode())
    if shape in ("parquet", "folder"):
        place = folder / name if shape == "folder" else folder
        place.mkdir(exist_ok=True)
        path = place / ("train.parquet" if shape == "folder" else f"{name}.parquet")
        pyarrow.parquet.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
        return place if shape == "folder" else path
    if shape == "turned":
        rows = [{"remark": "none", **{key: row[key] for key in reversed(names)}} for row in rows]
        names = list(rows[0])
    buffer = io.StringIO()
    separator, quoting = "\t" if shape == "tsv" else ",", csv.QUOTE_ALL if shape == "quoted" else csv.QUOTE_MINIMAL
    ends = "\r\n" if shape == "crlf" else "\n"
    writer = csv.DictWriter(buffer, names, delimiter=separator, quoting=quoting, lineterminator=ends)
    if shape != "headless":
        writer.writeheader()
    writer.writerows(rows)
    content = buffer.getvalue().encode("utf-8-sig" if shape == "bom" else "utf-8")
    path = folder / f"{name}.{'tsv' if shape == 'tsv' else 'csv'}"
    if shape == "gz":
        return _write(path.with_name(f"{path.name}.gz"), gzip.compress(content, mtime=0))
    return _write(path, content)


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
