"""Lines of text: from files, datasets or generated, every line checked before anything is trained on it.

The generated ones are invented reports in which a verb agrees with a noun that may stand several words before it. Each
has a subject, perhaps with a clause between it and its verb, and an object that suits the verb. What comes next follows
from more than the last word, so that a model that reads the whole line does better than counts of pairs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, DatasetFileError, TextFormatError
from ctxzoo.data.generated import RandomDraws, generate_splits
from ctxzoo.data.own_splits import RowGroups, hash_normalized_text, number_groups_by_key
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.row_checks import RowChecks, find_blank_texts, join_text_columns
from ctxzoo.data.row_files import load_split_tables, read_csv_or_tsv, read_json_lines, read_parquet
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.data.text_columns import TEXT_COLUMNS, ColumnNames, find_columns, list_column_names
from ctxzoo.data.text_files import get_unpacked_suffix, read_text_lines

if TYPE_CHECKING:
    import datasets

TEXT = "text"  # the column of the lines
PIECE = 1000  # words; the one line of a running text is cut into lines of so many, as for word embeddings
FILE_KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
# Stands behind each line. One sign, which no pre-tokenizer cuts further, and which texts hardly hold.
END_MARK = "␤"
_PIECES = re.compile(rf"\S+(?:\s+\S+){{,{PIECE - 1}}}")


@dataclass(frozen=True)
class LineSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name, with the single column `text` (str): one line in each row, none
            blank.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
        cut: Names of the splits whose lines are consecutive pieces of one running text.
    """

    splits: dict[str, datasets.Dataset]
    fingerprint: dict[str, str]
    cut: frozenset[str] = frozenset()


def read_lines(dataset: str, data_dir: str | None = None, text_column: ColumnNames = None) -> LineSplits:
    """Read and check a dataset. Rows of white space alone are left out.

    A split of one row with more than `PIECE` words, such as the one line of text8, is cut at blanks into rows of so
    many; a note says how many they are.

    Args:
        dataset: Data to read: "sample" (generated text); a .txt file of lines; a .csv, .tsv (both with a header),
            .jsonl or .parquet file, which gives the split "train"; a folder or Hub id with the splits train,
            validation, test.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        text_column: Name of the text column, or several to join by `join_texts`; default: the first of `TEXT_COLUMNS`
            that is there.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read, or is of another kind.
        TextFormatError: a row or column is not as it should be; the message names split or file, row (from 0) and
            value.
    """
    splits, origin = load_lines(dataset, data_dir, text_column)
    return check_lines(splits, text_column=text_column, origin=origin)


def load_lines(
    dataset: str, data_dir: str | None = None, text_column: ColumnNames = None
) -> tuple[dict[str, datasets.Dataset], dict[str, str]]:
    """Return the splits of a dataset as they are, and what messages call each; see `read_lines`."""
    if dataset == SAMPLE:
        splits = sample_text()
        return splits, {name: f"split {name!r}" for name in splits}
    return load_split_tables(dataset, data_dir, FILE_KINDS, lambda path: _read_file(path, text_column))


def check_lines(
    splits: Mapping[str, datasets.Dataset],
    *,
    text_column: ColumnNames = None,
    origin: Mapping[str, str] | None = None,
) -> LineSplits:
    """Check splits that are already loaded and return them with one column of text.

    Args:
        splits: Loaded dataset of each split, by split name.
        text_column: Name of the text column, or several to join; default: the first of `TEXT_COLUMNS` that is there.
        origin: Description of each split for error messages, by split name; default: "split 'name'".

    Raises:
        TextFormatError: as in `read_lines`.
    """
    locations = {name: (origin or {}).get(name, f"split {name!r}") for name in splits}
    lines = {name: check_line_rows(locations[name], split, text_column) for name, split in splits.items()}
    empty = next((locations[name] for name, texts in lines.items() if not len(texts)), None)
    if empty is not None:
        raise TextFormatError(f"{empty}: no line of text; expected at least one")
    pieces_by_split = {name: pieces for name, texts in lines.items() if len(pieces := _split_single_text(texts)) > 1}
    for name, pieces in pieces_by_split.items():
        record_note(
            locations[name],
            f"pieces of up to {PIECE:,} words, into which the one line was cut, read as lines",
            len(pieces),
        )
    checked = {name: _build_dataset(pieces_by_split.get(name, texts)) for name, texts in lines.items()}
    fingerprint = {name: dataset_fingerprint(split) for name, split in checked.items()}
    return LineSplits(checked, fingerprint, frozenset(pieces_by_split))


def group_equal_lines(checked: LineSplits) -> RowGroups:
    """Group the rows that must stay in one split: equal lines; pieces of one text are divided in their order."""
    groups = number_groups_by_key(
        {name: map(hash_normalized_text, iterate_column(split[TEXT])) for name, split in checked.splits.items()}
    )
    return RowGroups(groups=groups, unit="lines", together="equal lines", in_order="train" in checked.cut)


def _read_file(path: Path, text_column: ColumnNames) -> pa.Table:
    """Read a file of lines as a table with its text columns: .txt, .jsonl or .parquet, possibly packed."""
    kind = get_unpacked_suffix(path)
    if kind not in ("", *FILE_KINDS):
        raise DatasetFileError(f"{path} is no {', '.join(FILE_KINDS)} file; name one, a folder, or a Hub id")
    if kind in ("", ".txt"):
        return pa.table({TEXT: pa.array(read_text_lines(path), pa.string())})
    if kind == ".parquet":
        return read_parquet(path)
    if kind == ".jsonl":
        rows = read_json_lines(path)
        present = list(dict.fromkeys(key for row in rows for key in row))
        names = find_columns(str(path), present, {TEXT: (text_column, TEXT_COLUMNS)})[0]
        rows_with_text = []
        for number, row in enumerate(rows):
            # Of several columns some may be empty.
            wrong = [name for name in names if not isinstance(row.get(name), (str, type(None))[: len(names)])]
            if not wrong:
                rows_with_text.append(row)
                continue
            error = TextFormatError(f"{path}, row {number}: {row.get(wrong[0])!r} in {wrong[0]!r}; expected text")
            skip_or_raise(f"{path}, object {number}", error)  # the rows that are left are counted anew
        return pa.table({name: pa.array([row.get(name) for row in rows_with_text], pa.string()) for name in names})
    return read_csv_or_tsv(path, list_column_names(text_column) or (TEXT,))


def _split_single_text(texts: pa.ChunkedArray) -> list[str]:
    """If a split is one single long text, return it in pieces; otherwise return nothing."""
    return _PIECES.findall(texts[0].as_py()) if len(texts) == 1 else []


def _build_dataset(texts: pa.ChunkedArray | list[str]) -> datasets.Dataset:
    """Build a dataset with one column of texts."""
    import datasets

    column = pa.array(texts, pa.string()) if isinstance(texts, list) else texts
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table({TEXT: column})))


def check_line_rows(location: str, split: datasets.Dataset, text_column: ColumnNames) -> pa.ChunkedArray:
    """Check the texts of a split, or of a part of it, and return them in one column without the blank ones.

    Args:
        location: Name of the data in messages.
        split: Rows as they are.
        text_column: Name of the text column, or several to join, as in `read_lines`.

    Raises:
        TextFormatError: as in `read_lines`.
    """
    table: pa.Table = split.with_format("arrow")[:]
    checks = RowChecks(location, len(split))
    names = find_columns(location, split.column_names, {TEXT: (text_column, TEXT_COLUMNS)})[0]
    texts = join_text_columns(checks, table, names)
    checks.refuse_rows(
        pc.fill_null(pc.match_substring(texts, END_MARK), False),
        texts,
        f"{{value!r}} holds {END_MARK}, the mark that stands behind each line; take it out",
    )
    texts = checks.select_kept_rows(texts)
    lines = texts.filter(pc.invert(find_blank_texts(texts)))
    record_note(location, "blank lines, left out", len(texts) - len(lines))
    return lines


NOUNS = (("farmer", "farmers"), ("baker", "bakers"), ("sailor", "sailors"), ("teacher", "teachers"))
ADJECTIVES = ("old", "young", "tall", "tired")
CLAUSES = ("from the village", "behind the mill", "with a red hat", "near the river")
# Singular, plural, and the objects of the verb.
VERBS = (
    ("sells", "sell", ("bread", "flour", "apples")),
    ("mends", "mend", ("a net", "a boat", "the roof")),
    ("reads", "read", ("a letter", "the paper", "an old book")),
    ("paints", "paint", ("the door", "a boat", "the wall")),
)
ENDINGS = ("", "", "today", "every day", "after lunch")


def sample_text(seed: int = 0, train: int = 600, validation: int = 100, test: int = 100) -> dict[str, datasets.Dataset]:
    """Return generated lines; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of lines to generate for each split, 1 or more.

    Returns:
        Splits train, validation and test with the column `text`.

    Raises:
        ValueError: negative seed, or a number of lines below 1.
    """

    def draw_lines(draws: RandomDraws, number: int, split: str) -> dict[str, list[str]]:
        return {TEXT: [_draw_line(draws) for _ in range(number)]}

    return generate_splits("sample_text", "line", seed, (train, validation, test), draw_lines)


def _draw_line(draws: RandomDraws) -> str:
    """Draw a sentence of the sample whose verb agrees with its subject, in singular or plural."""
    plural = draws.random() < 0.5
    words = ["the"]
    if draws.random() < 0.4:
        words.append(draws.draw_item(ADJECTIVES))
    words.append(draws.draw_item(NOUNS)[int(plural)])
    if draws.random() < 0.4:
        words.append(draws.draw_item(CLAUSES))
    singular_form, plural_form, objects = draws.draw_item(VERBS)
    words += [plural_form if plural else singular_form, draws.draw_item(objects), draws.draw_item(ENDINGS), "."]
    return " ".join(word for word in words if word)
