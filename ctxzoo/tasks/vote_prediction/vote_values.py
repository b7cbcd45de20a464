"""Which values say yea and nay: words, numbers, and the cast codes of Voteview."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.sources import cast_to_plain_type

NONE, BAD = -1, -2  # beside 1 yea and 0 nay: no vote, and no value that says how someone voted
SPELLINGS = {
    **dict.fromkeys(("1", "yea", "yes", "aye", "y", "true"), 1),
    **dict.fromkeys(("0", "nay", "no", "n", "false"), 0),
    **dict.fromkeys(("", "na", "n/a", "nan", "null", "none"), NONE),
    **dict.fromkeys(("present", "abstain", "absent", "not voting"), NONE),
}
# https://voteview.com/articles/data_help_votes: yea, paired and announced yea; announced, paired and nay; present,
# present, not voting; no member then.
CAST_CODES = {**dict.fromkeys("123", 1), **dict.fromkeys("456", 0), **dict.fromkeys("7890", NONE), "": NONE}
CAST_CODE_COLUMN = "cast_code"  # what Voteview calls it
EXPECTED = "expected yea or nay, yes or no, true or false, 1 or 0, or cast codes of Voteview"


def read_vote_values(location: str, column: pa.ChunkedArray, name: str) -> npt.NDArray[np.int64]:
    """Read the vote of each row: 1 yea, 0 nay, `NONE` where there is no vote, `BAD` where a bad row is left out.

    Values are read in any case, numbers as text too. They are cast codes (`CAST_CODES`) where the column is called so,
    or where all are whole numbers from 0 to 9 with yeas and nays among the codes and one above 1.

    Args:
        location: Name of the data in error messages.
        column: (rows,) vote of each row as text, number or boolean.
        name: Name of the column, for error messages.

    Raises:
        TextFormatError: Another value, unless bad rows are left out.
    """
    encoded = cast_to_plain_type(column).combine_chunks().dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]  # the last is that of missing rows, -1
    spelled = [_normalize_value(value) for value in values]
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_cast = name.strip().casefold() == CAST_CODE_COLUMN or _are_cast_codes({one for one in spelled if one})
    meaning: dict[str, int] = CAST_CODES if is_cast else SPELLINGS
    votes: npt.NDArray[np.int64] = np.array([meaning.get(one, BAD) for one in spelled])[places]
    for row in np.flatnonzero(votes == BAD).tolist():
        bad_value = values[places[row]]
        skip_or_raise(
            f"{location}, row {row}",
            TextFormatError(f"{location}, row {row}: the vote is {_format_value(bad_value)}; {EXPECTED}"),
        )
    if is_cast:
        record_note(
            location, "votes read as cast codes of Voteview, 1 to 3 yea and 4 to 6 nay", int((votes >= 0).sum())
        )
    record_note(location, "rows without a yea or nay, left out", int((votes == NONE).sum()))
    return votes


def _are_cast_codes(spelled: set[str]) -> bool:
    """Return whether the values of a column are the digits by which Voteview writes votes, of yeas as well as nays."""
    codes = set("0123456789")
    return spelled <= codes and bool(spelled & set("123")) and bool(spelled & set("456"))


def _normalize_value(value: Any) -> str:
    """Return a value as text in small letters, a whole number without a point."""
    text = "" if value is None else str(value).strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def _format_value(value: Any) -> str:
    """Return the value of a vote as it is shown in messages."""
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, int) else repr(value)
