"""Word vectors in the formats of GloVe (text without a header) and of word2vec (text or binary, with a header).

The header is a line with rows and dimension. In text a row is a word and its numbers, separated by single blanks. Words
may hold blanks and any other Unicode character but the line feed (some in glove.840B do), therefore files are split as
bytes and the numbers counted from the right. In the binary format a row is the word, one blank, the vector as
little-endian 32-bit floats and, from some writers, a line feed. There a word can hold no blank.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ctxzoo.data.notices import format_count
from ctxzoo.word_vectors.rows import RowSelection, RowStore, format_bytes_for_error
from ctxzoo.word_vectors.source import UTF8_MARK, open_vector_file, parse_and_check_header

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
_LINES_FOR_WIDTH = 100
_ROWS_AT_ONCE = 2048
_BLOCK_BYTES = 4 << 20
_LONGEST_WORD = 1 << 16


def read_glove_text(
    path: Path, head: bytes, selection: RowSelection, progress: bool
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return words and vectors (rows, dim) of a text without a header; the width is that of most of the first lines.

    Rows that are not kept are checked for their width only.

    Raises:
        ValueError: the file breaks the format; the message names the line.
    """
    return _read_text_rows(path, selection, progress, glove_head=head)


def read_word2vec_text(
    path: Path, selection: RowSelection, progress: bool
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the words and vectors (rows, dim) of a text with a header.

    Rows that are not kept are checked for their width only; the number of rows is checked if the file is read to its
    end, which a selection by `limit` alone does not do.

    Raises:
        ValueError: the file breaks the format; the message names the line.
    """
    return _read_text_rows(path, selection, progress, glove_head=None)


def _read_text_rows(
    path: Path, selection: RowSelection, progress: bool, glove_head: bytes | None
) -> tuple[list[str], npt.NDArray[np.float32]]:
    with open_vector_file(path, progress) as file:
        name = file.name
        promised: int | None = None
        if glove_head is None:
            promised, width = parse_and_check_header(name, file.stream.readline())
            width_from = "the header"
        else:
            width, width_from = _find_common_width(name, glove_head), "most of the first lines"
        first_line = 1 if promised is None else 2
        store = RowStore(name, "line", width)
        pending: list[tuple[int, bytes]] = []
        blank_line: int | None = None
        row = -1
        for row, raw in enumerate(file.stream):
            line_number = row + first_line
            if selection.is_finished_before(row):
                break
            if line_number % _ROWS_AT_ONCE == 0:
                file.report()
            line = raw.rstrip(b" \r\n")
            if line_number == 1:
                line = line.removeprefix(UTF8_MARK)
            if not line:
                blank_line = blank_line or line_number
                continue
            if blank_line is not None:
                raise ValueError(f"{name}: line {blank_line}: the line is empty, expected a word and {width} numbers")
            if row == promised:
                raise ValueError(
                    f"{name}: line {line_number}: more rows than the {promised} that the header in line 1 promises"
                )
            if line.count(b" ") == width:
                word, _, numbers = line.partition(b" ")
            else:
                word, numbers = _split_word_from_numbers(f"{name}: line {line_number}", line, width, width_from)
            if selection.is_row_kept(row, word):
                store.add_word(word, line_number)
                pending.append((line_number, numbers))
                if len(pending) == _ROWS_AT_ONCE:
                    store.add_vectors(_parse_numbers(name, pending, width))
                    pending.clear()
        else:
            rows = row + 1 if blank_line is None else blank_line - first_line
            if promised is not None and rows != promised:
                raise ValueError(
                    f"{name}: {format_count(rows, 'rows')}, expected the {promised} that the header in line 1 promises"
                )
        if pending:
            store.add_vectors(_parse_numbers(name, pending, width))
        return store.words, store.build_matrix()


def _find_common_width(name: str, head: bytes) -> int:
    lines = head.removeprefix(UTF8_MARK).split(b"\n")
    widths = Counter(_count_trailing_numbers(line) for line in lines[:_LINES_FOR_WIDTH] if line.strip())
    # Of equally frequent widths the largest counts: a short line is then reported as such, not as a word with blanks,
    # and a line cut by the end of the head does not decide.
    width = max(widths, key=lambda width: (widths[width], width), default=0)
    if width == 0:
        raise ValueError(
            f"{name}: line 1: {format_bytes_for_error(lines[0].rstrip())} does not end in numbers; expected a word and "
            "its vector, separated by single blanks, or a word2vec header, or a safetensors file"
        )
    return width


def _count_trailing_numbers(line: bytes) -> int:
    """Count the fields at the end of a line that are numbers; the first field is always (part of) the word."""
    count = 0
    for field in reversed(line.rstrip(b" \r\n").split(b" ")[1:]):
        if not _NUMBER.fullmatch(field):
            break
        count += 1
    return count


def _split_word_from_numbers(location: str, line: bytes, width: int, width_from: str) -> tuple[bytes, bytes]:
    """Return word and numbers of a line whose number of blanks is not the width."""
    fields = line.rsplit(b" ", width)
    num_numbers: int | None = None
    if len(fields) <= width:
        num_numbers = len(fields) - 1
    elif _NUMBER.fullmatch(fields[0].rpartition(b" ")[2]):
        # A word with blanks may end in a number, but one number too many is by far the likelier reading.
        num_numbers = _count_trailing_numbers(line)
    if num_numbers is not None:
        word = format_bytes_for_error(line.partition(b" ")[0])
        raise ValueError(
            f"{location}: {format_count(num_numbers, 'numbers')} after the word {word}, expected {width} "
            f"as in {width_from}"
        )
    return fields[0], b" ".join(fields[1:])


def _parse_numbers(name: str, rows: list[tuple[int, bytes]], width: int) -> npt.NDArray[np.float32]:
    """Return the numbers (rows, width) of rows given as (line number, text)."""
    joined = b" ".join(numbers for _, numbers in rows)
    # Every row has `width` fields. The fast parser skips empty ones and takes a tab for a blank, so that two faulty
    # rows could make up the right count and shift numbers between rows: rows with empty fields are parsed the slow
    # way, which reports them. Garbage is an error in newer versions of numpy, a warning in older ones.
    if b"  " not in joined:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                values = np.fromstring(joined, dtype=np.float32, sep=" ")
        except (ValueError, Warning):
            pass
        else:
            if values.size == len(rows) * width and np.isfinite(values).all():
                return values.reshape(len(rows), width)
    return np.array(
        [_parse_numbers_of_line(f"{name}: line {line}", numbers) for line, numbers in rows], dtype=np.float32
    )


def _parse_numbers_of_line(location: str, numbers: bytes) -> list[float]:
    values = []
    for position, field in enumerate(numbers.split(b" "), start=1):
        if not _NUMBER.fullmatch(field):
            raise ValueError(f"{location}: value {position} is {format_bytes_for_error(field)}, expected a number")
        value = float(field)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float32(value)):
                raise ValueError(
                    f"{location}: value {position} is {format_bytes_for_error(field)}, expected a finite 32-bit number"
                )
        values.append(value)
    return values


def read_word2vec_binary(
    path: Path, selection: RowSelection, progress: bool
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the words and vectors (rows, dim) of a word2vec binary file.

    Values and words of rows that are not kept are not checked.

    Raises:
        ValueError: the file breaks the format; the message names row and byte.
    """
    with open_vector_file(path, progress) as file:
        name = file.name
        header = file.stream.readline()
        rows, dim = parse_and_check_header(name, header)
        store = RowStore(name, "row", dim)
        pending: list[tuple[int, int, bytes]] = []
        block = b""
        position = 0  # in the block
        block_start = len(header)  # in the file

        def read_more() -> bool:
            nonlocal block, block_start, position
            more = file.stream.read(_BLOCK_BYTES)
            block_start += position
            block = block[position:] + more
            position = 0
            file.report()
            return bool(more)

        for row in range(rows):
            if selection.is_finished_before(row):
                break
            while (blank := block.find(b" ", position, position + _LONGEST_WORD)) < 0:
                location = f"{name}: row {row} (byte {block_start + position})"
                if len(block) - position >= _LONGEST_WORD:
                    raise ValueError(f"{location}: no blank in {_LONGEST_WORD:,} bytes, expected a word and a blank")
                if not read_more():
                    raise ValueError(
                        f"{location}: the file ends within or before the word, expected the {rows} rows that the "
                        "header in line 1 promises; it may be cut short"
                    )
            word = block[position:blank].lstrip(b"\n")
            length = blank + 1 - position
            while len(block) < position + length + 4 * dim:
                if not read_more():
                    found = len(block) - position - length
                    raise ValueError(
                        f"{name}: row {row} (byte {block_start + position}): the file ends after {found} bytes of "
                        f"the vector of {format_bytes_for_error(word)}, expected {4 * dim}; it may be cut short"
                    )
            if selection.is_row_kept(row, word):
                store.add_word(word, row)
                start = position + length
                pending.append((row, block_start + start, block[start : start + 4 * dim]))
                if len(pending) == _ROWS_AT_ONCE:
                    store.add_vectors(_decode_float_rows(name, pending, dim))
                    pending.clear()
            position += length + 4 * dim
        else:
            while len(block) - position < 2 and read_more():
                pass
            if block[position:].strip(b"\n"):
                raise ValueError(
                    f"{name}: byte {block_start + position}: more bytes after the {format_count(rows, 'rows')} that "
                    f"the header in line 1 promises with dimension {dim}"
                )
        if pending:
            store.add_vectors(_decode_float_rows(name, pending, dim))
        return store.words, store.build_matrix()


def _decode_float_rows(name: str, rows: list[tuple[int, int, bytes]], dim: int) -> npt.NDArray[np.float32]:
    """Return vectors (rows, dim) of rows given as (row number, byte where the vector starts, its bytes)."""
    values = np.frombuffer(b"".join(raw for _, _, raw in rows), dtype="<f4").reshape(len(rows), dim)
    faults = np.argwhere(~np.isfinite(values))
    if len(faults):
        row, column = (int(index) for index in faults[0])
        number, start, _ = rows[row]
        raise ValueError(
            f"{name}: row {number} (byte {start + 4 * column}): value {column + 1} is {values[row, column]}, "
            "expected a finite number"
        )
    return values
