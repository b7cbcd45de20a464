"""Which rows of a word-vector file are kept, and where the kept rows are gathered."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

_DIGIT = re.compile(r"\d")


def list_case_variants(word: str) -> tuple[str, str, str, str]:
    """Return the spellings under which a word is looked up, in order: as is, lower case, capitalised, upper case."""
    return word, word.lower(), word.capitalize(), word.upper()


def list_spellings(word: str, fold_digits: bool = False) -> tuple[str, ...]:
    """Return the spellings of a word for look-ups: `list_case_variants`, then these with every digit a 0."""
    variants = list_case_variants(word)
    folded = _DIGIT.sub("0", word) if fold_digits else word
    return variants if folded == word else (*variants, *list_case_variants(folded))


def format_bytes_for_error(raw: bytes, longest: int = 60) -> str:
    """Return bytes of a file as they are shown in an error: readable, on one line, cut when long."""
    text = raw[:longest].decode("utf-8", errors="backslashreplace")
    return repr(text) + ("…" if len(raw) > longest else "")


class RowSelection:
    """The rows to keep: the first `limit` of the file, and those whose word `list_spellings` gives for one of `keep`.

    With neither given, every row is kept.

    Raises:
        TypeError: `keep` is one string instead of a collection of words.
        ValueError: `limit` is negative.
    """

    def __init__(self, keep: Collection[str] | None, limit: int | None, fold_digits: bool = False) -> None:
        if isinstance(keep, str):
            raise TypeError(f"keep is the string {keep!r}, expected a collection of words, for example {{{keep!r}}}")
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}, expected a number of rows >= 0, or None for no limit")
        self._limit = limit
        # Words are compared as bytes, so that the words of rows that are not kept need no decoding.
        self._keep: frozenset[bytes] | None = None
        if keep is not None:
            variants = (variant for word in keep for variant in list_spellings(word, fold_digits))
            self._keep = frozenset(variant.encode("utf-8", errors="surrogatepass") for variant in variants)

    def is_row_kept(self, row: int, word: bytes) -> bool:
        """Return whether the row with this index (from 0) and UTF-8 word is kept."""
        if self._limit is not None and row < self._limit:
            return True
        if self._keep is not None:
            return word in self._keep
        return self._limit is None

    def is_finished_before(self, row: int) -> bool:
        """Return whether neither this row nor any after it can be kept, so that reading may stop."""
        return self._keep is None and self._limit is not None and row >= self._limit


class RowStore:
    """Gathers words and vectors of kept rows.

    Args:
        name: Name of the file, for error messages.
        unit: Unit of positions in error messages: "line" or "row".
        dim: Dimension of a vector.
    """

    def __init__(self, name: str, unit: str, dim: int) -> None:
        self.words: list[str] = []
        self._name = name
        self._unit = unit
        self._positions: dict[str, int] = {}
        self._vectors: npt.NDArray[np.float32] = np.empty((1024, dim), dtype=np.float32)
        self._filled = 0

    def add_word(self, raw: bytes, position: int) -> None:
        """Take the word of a kept row, found in line `position`, from 1, or row, from 0.

        Raises:
            ValueError: the word is empty, is not UTF-8, or was there before.
        """
        location = f"{self._name}: {self._unit} {position}"
        if not raw:
            raise ValueError(f"{location}: the word is empty, expected at least one character")
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            # Rows are counted in binary files only, where a wrong dimension puts words in the middle of numbers.
            advice = "convert the file to UTF-8 first"
            if self._unit == "row":
                advice += ", or correct the header if its dimension is wrong"
            raise ValueError(
                f"{location}: the word {raw[:60]!r} is not UTF-8 (byte {error.start} is 0x{raw[error.start]:02x}); "
                f"{advice}"
            ) from None
        first_position = self._positions.setdefault(word, position)
        if first_position != position:
            raise ValueError(
                f"{location}: the word {word!r} is already in {self._unit} {first_position}, expected each word once; "
                "remove one of the two"
            )
        self.words.append(word)

    def add_vectors(self, rows: npt.NDArray[np.float32]) -> None:
        """Take the vectors (rows, dim) of the words added last."""
        num_rows = self._filled + len(rows)
        if num_rows > len(self._vectors):
            # Nothing else refers to the array, so it can grow by itself rather than being held twice.
            self._vectors.resize((max(num_rows, len(self._vectors) * 3 // 2), self._vectors.shape[1]), refcheck=False)
        self._vectors[self._filled : num_rows] = rows
        self._filled = num_rows

    def build_matrix(self) -> npt.NDArray[np.float32]:
        """Return the matrix (kept rows, dim); nothing can be added afterwards."""
        self._positions.clear()
        self._vectors.resize((self._filled, self._vectors.shape[1]), refcheck=False)
        return self._vectors
