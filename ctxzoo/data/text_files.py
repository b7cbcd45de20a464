"""Reading files of text: UTF-8, packed or not, their lines, a JSON object on a line; errors name the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.notices import format_error_reason
from ctxzoo.data.unpacking import limit_unpacked_size

DELIMITED = (".csv", ".tsv")
NOT_LINES = (*DELIMITED, ".json", ".parquet")  # their lines are no texts
PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}  # what pyarrow unpacks


def get_unpacked_suffix(file: Path) -> str:
    """Return the suffix of a file in lower case; of a packed file that of what is packed, ".csv" of a.csv.gz."""
    return Path(file.stem if file.suffix.lower() in PACKED else file.name).suffix.lower()


def open_unpacked(file: Path) -> BinaryIO:
    """Open a file to read its bytes, those of `PACKED` suffixes unpacked.

    Raises:
        OSError: it cannot be read.
        PackedFileError: while it is read: it unpacks to more than it may, see `compute_unpacked_limit`.
    """
    packed = PACKED.get(file.suffix.lower())
    raw = file.open("rb")
    if packed is None:
        return raw
    import pyarrow as pa  # takes time to import, and names of packed files are asked for without one

    return limit_unpacked_size(pa.CompressedInputStream(pa.PythonFile(raw), packed), file)


def read_utf8(file: Path) -> str:
    """Return the text of a file as it is, ends of lines too, but without a byte order mark.

    Raises:
        DatasetFileError: it is not UTF-8, and the message names the position of the byte; or it cannot be unpacked.
        OSError: it cannot be read.
    """
    try:
        with open_unpacked(file) as stream:
            return str(stream.read(), encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetFileError(f"{file}: not UTF-8 text at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        if file.suffix.lower() not in PACKED or not file.is_file():
            raise
        raise DatasetFileError(
            f"{file} cannot be unpacked: {format_error_reason(error)}; copy or pack it again"
        ) from error


def read_text_lines(file: Path) -> list[str]:
    """Return the lines of a file without their ends.

    A line ends with a line feed, behind a carriage return or not. A carriage return anywhere else belongs to its line,
    unless there is no line feed at all: then lines end with it.

    Raises:
        DatasetFileError, OSError: as in `read_utf8`.
    """
    text = read_utf8(file)
    end = "\n" if "\n" in text else "\r"
    return [line.removesuffix("\r") for line in text.removesuffix(end).split(end)] if text else []


def parse_json_object(line: str, location: str) -> dict[str, Any]:
    """Return the object that a line holds; `location` is what messages call the line.

    Raises:
        DatasetFileError: it is not JSON, no object, or holds a name twice or half a character.
    """
    content = parse_json(line, location)
    if not isinstance(content, dict):
        raise DatasetFileError(f"{location} is {line[:60]!r}; expected an object such as {{...}}")
    return content


def parse_json(text: str, location: str) -> Any:
    """Return the value that a text of JSON holds; `location` is what messages call the text.

    Raises:
        DatasetFileError: it is not JSON, or holds a name twice in an object, or half a character.
    """
    try:
        content = json.loads(text, object_pairs_hook=_build_dict_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise DatasetFileError(f"{location} is not JSON ({error}): {text[:60]!r}") from error
    if "\\u" in text:
        _refuse_lone_surrogates(content, location)
    return content


def _refuse_lone_surrogates(content: Any, location: str) -> None:
    """Raise DatasetFileError where a text holds half of a surrogate pair, which UTF-8 cannot encode."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DatasetFileError(f"{location} holds half a character, {error.object[error.start]!r}") from error


def _build_dict_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise ValueError for a name that stands twice."""
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"{name!r} stands there twice")
        content[name] = value
    return content
