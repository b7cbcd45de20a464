"""The rows that the body of a request holds, and what is refused of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxzoo.data.notices import format_count
from ctxzoo.data.rows import TEXT, Row
from ctxzoo.data.text_files import parse_json, parse_json_object
from ctxzoo.serving.limits import Limits

FORMS = 'an object of one row, a list of rows, {"rows": [...]} or {"texts": [...]}'


class RequestError(Exception):
    """A request that is refused, with the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def parse_rows(body: bytes, limits: Limits, *, are_lines: bool) -> list[Row]:
    """Return the rows of a body.

    Args:
        body: JSON, `FORMS`, or with `are_lines` an object on each line; UTF-8.
        limits: Limits of the service.
        are_lines: Whether the body is newline-delimited JSON.

    Raises:
        RequestError: it is not JSON (400), too large (413), or of another form (422).
    """
    try:
        text = body.decode("utf-8-sig")
        rows = list(_parse_lines(text)) if are_lines else _take_rows(parse_json(text, "the request"))
    except UnicodeDecodeError as error:
        raise RequestError(400, f"the request is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except ValueError as error:
        raise RequestError(400, str(error)) from error
    if not rows:
        raise RequestError(422, f"the request holds no row; expected one or more: {FORMS}")
    if len(rows) > limits.max_rows:
        raise RequestError(413, f"the request has {len(rows):,} rows; send {limits.max_rows:,} at most (--max_rows)")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not row:
            raise RequestError(
                422, f"row {number} of the request is {row!r:.60}; expected an object of columns and values"
            )
        longest = max(_count_characters(value) for value in row.values())
        if longest > limits.max_characters:
            raise RequestError(
                413,
                f"row {number} of the request has a text of {format_count(longest, 'characters')}; send "
                f"{limits.max_characters:,} at most (--max_characters)",
            )
    return rows


def _parse_lines(text: str) -> Iterator[Row]:
    """Yield the object of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield parse_json_object(line, f"line {number} of the request")


def _take_rows(content: Any) -> list[Any]:
    """Return the rows of a value of one of `FORMS`.

    Raises:
        RequestError: it has another form.
    """
    if isinstance(content, dict) and len(content) == 1 and isinstance(rows := content.get("rows"), list):
        return rows
    if isinstance(content, dict) and len(content) == 1 and isinstance(texts := content.get("texts"), list):
        return [{TEXT: one} for one in texts]
    if isinstance(content, dict):
        return [content]
    if isinstance(content, list):
        return content
    raise RequestError(422, f"the request is {content!r:.60}; expected {FORMS}")


def _count_characters(value: Any) -> int:
    """Return the number of characters of the longest text in a value of JSON."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_count_characters, inner), default=0)
