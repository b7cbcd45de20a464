"""Reads texts with one label each, or with several, and checks every row before anything is trained on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import note_similar_labels, record_note
from ctxzoo.data.row_checks import RowChecks, find_blank_texts, join_text_columns
from ctxzoo.data.row_files import load_split_tables, read_csv_or_tsv, read_json_lines, read_parquet
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint
from ctxzoo.data.text_columns import TEXT_COLUMNS, ColumnNames, find_columns, list_column_names
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.tasks.text_classification.label_sets import (
    find_mark_columns,
    is_list_of_labels,
    list_label_names,
    note_joined_labels,
    read_label_columns,
    read_label_lists,
    split_label_cells,
)
from ctxzoo.tasks.text_classification.sample import sample_texts

LABEL_COLUMNS = ("label", "labels", "category", "class", "target")
LABEL_TEXT = "label_text"
FILE_KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
MOST = 2**63 - 1  # that an int64 holds
WITH_FRACTION = "labels written as 1.0, read as 1"
_NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*")
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})(\.0*)?$"
_DECIMAL = r"^-?[0-9]+(\.[0-9]*)?$"
_FRACTION = r"\.0*[1-9]"
TOO_LARGE = "expected 0..L-1 for L labels; write other numbers as text"


@dataclass(frozen=True)
class TextSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name, with the columns `text` (str) and `label` (int64, 0..labels-1, or,
            where a text may have several labels, a list of these).
        label_names: Name of each label, in the order of the label numbers.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    label_names: list[str]
    fingerprint: dict[str, str]

    @property
    def has_several_labels(self) -> bool:
        """Whether a text may have several labels, or none."""
        return is_list_of_labels(next(iter(self.splits.values())).features["label"])


def read_texts(
    dataset: str,
    data_dir: str | None = None,
    text_column: ColumnNames = None,
    label_column: str | None = None,
    known_labels: Sequence[str] | None = None,
    *,
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
    several_labels: bool | None = None,
) -> TextSplits:
    """Read and check a dataset.

    Labels are those of a `ClassLabel` column; or integers 0..L-1, each in use, named by a column `label_text` where
    there is one; or text, numbered in alphabetical order. A column of lists gives a text several labels, or none, and
    so do `label_separator` and `label_columns`; nothing else does.

    Args:
        dataset: Data to read: "sample" (generated texts); a .csv, .tsv (both with a header), .jsonl or .parquet file,
            which gives the split "train"; a folder or Hub id with the splits train, validation, test.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        text_column: Name of the text column, or several to join by `join_texts`; default: the first of `TEXT_COLUMNS`
            that is there.
        label_column: Name of the label column; default: the first of `LABEL_COLUMNS` that is there.
        known_labels: Label names of a model, in its order, to which the data's labels are matched by name; rows with
            another label are an error, or skipped with `--skip_bad`.
        label_separator: Sign between several labels in one cell, as ";" in "a;b"; None: a cell is one label.
        label_columns: Names of columns of 0 and 1, one for each label; None: there is one column of labels.
        several_labels: Whether the model gives a text several labels; None: as the data say.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read, or is of another kind.
        TextFormatError: a row or column is not as it should be; the message names split or file, row (counted from 0
            at the first after a header) and value.
    """
    splits, origin = load_texts(dataset, data_dir, text_column, label_column, label_columns)
    return check_texts(
        splits,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
        label_columns=label_columns,
        origin=origin,
        known_labels=known_labels,
        several_labels=several_labels,
    )


def check_text_rows(
    location: str,
    rows: datasets.Dataset,
    *,
    text_column: ColumnNames = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
) -> pa.Table:
    """Check a part of the rows of a split, and return them with the columns `text` and `label`, by names.

    Args:
        location: Name of the data in messages.
        rows: Rows as they are.
        text_column, label_column, label_separator, label_columns: Where texts and labels stand, as in `read_texts`.

    Returns:
        `text` (str) and `label`, the name of the label, or a list of names where a text may have several.

    Raises:
        TextFormatError: as in `read_texts`; labels may be any whole numbers.
    """
    columns = _Columns.from_split(
        location, rows, text_column, label_column, True, separator=label_separator, label_columns=label_columns
    )
    (columns,) = _convert_labels_to_integers([columns])
    labels = columns.labels.cast(pa.list_(pa.string())) if columns.has_lists else columns._name_labels()
    return pa.table({"text": columns.texts.cast(pa.string()), "label": labels})


def build_labelled_texts(rows: pa.Table, names: Sequence[str]) -> datasets.Dataset:
    """Return rows of `check_text_rows` as a dataset whose labels are classes of these names."""
    columns = _Columns("", np.arange(len(rows)), rows.column("text"), rows.column("label"), None, None)
    texts = columns.to_dataset(names)
    if columns.has_lists:
        return texts
    features = datasets.Features({**texts.features, "label": datasets.ClassLabel(names=list(names))})
    return datasets.Dataset(texts.data, info=datasets.DatasetInfo(features=features))


def refuse_numeric_texts(location: str, texts: Sequence[str]) -> None:
    """Refuse a column of numbers, which is most often the wrong one.

    Raises:
        TextFormatError: every text is a number.
    """
    if all(_NUMBER.fullmatch(text) for text in texts):
        raise TextFormatError(
            f"{location}: every text is a number, as {texts[0]!r}; name the column of the texts (or set `text_column`)"
        )


def load_texts(
    dataset: str,
    data_dir: str | None = None,
    text_column: ColumnNames = None,
    label_column: str | None = None,
    label_columns: Sequence[str] | None = None,
) -> tuple[dict[str, datasets.Dataset], dict[str, str]]:
    """Return the splits of a dataset as they are, and what messages call each; arguments as in `read_texts`.

    Raises:
        DatasetUnavailableError, DatasetFileError, TextFormatError: see `read_texts`.
    """
    if dataset == SAMPLE:
        splits = sample_texts()
        return dict(splits), {name: f"split {name!r}" for name in splits}
    names = (label_column, *(label_columns or ()))
    return load_split_tables(dataset, data_dir, FILE_KINDS, lambda path: _read_file(path, text_column, names))


def check_texts(
    splits: Mapping[str, datasets.Dataset],
    *,
    text_column: ColumnNames = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
    origin: Mapping[str, str] | None = None,
    any_labels: bool = False,
    known_labels: Sequence[str] | None = None,
    several_labels: bool | None = None,
) -> TextSplits:
    """Check splits that are already loaded and put their columns into the one form.

    Labels that are text in all splits, but whole numbers in every row, count as numbers: "0" is 0, and "1.0" is 1,
    which is noted; "007" and "1.5" are no such numbers.

    Args:
        splits: Loaded dataset of each split, by split name.
        text_column, label_column, known_labels: Names of the text and label columns, and label names of a model, as in
            `read_texts`.
        label_separator, label_columns, several_labels: Where several labels of a text stand, and whether the model
            gives several, as in `read_texts`.
        origin: Description of each split for error messages, by split name; default: "split 'name'".
        any_labels: Whether labels may be arbitrary integers or booleans, which are then named as they are written.

    Raises:
        TextFormatError: as in `read_texts`.
    """
    any_labels = any_labels or known_labels is not None
    if label_columns and (label_column or label_separator):
        raise TextFormatError(
            f"label_columns={list(label_columns)} beside label_column={label_column!r} and "
            f"label_separator={label_separator!r}; labels stand in columns of 0 and 1, or in one column: give either"
        )
    columns = [
        _Columns.from_split(
            (origin or {}).get(name, f"split {name!r}"),
            split,
            text_column,
            label_column,
            any_labels,
            separator=label_separator,
            label_columns=label_columns,
        )
        for name, split in splits.items()
    ]
    if several_labels is not None:
        columns = [split.fit_to_model(several_labels) for split in columns]
    columns = _convert_labels_to_integers(columns)
    if columns[0].has_lists:
        label_names = _collect_names_of_lists(columns, label_columns, known_labels)
        if known_labels is not None:
            columns = [split.refuse_unknown_lists(known_labels) for split in columns]
    elif known_labels is not None:
        columns = [split.replace_with_known_names(known_labels) for split in columns]
        label_names = list(known_labels)
    else:
        integers = _list_integer_labels(columns) if any_labels else None
        if integers is not None:
            columns = [replace(split, labels=split.labels.cast(pa.string())) for split in columns]
        label_names = _collect_label_names(columns, integers)
        note_joined_labels(", ".join(split.where for split in columns), label_names)
    if known_labels is None:
        note_similar_labels(", ".join(split.where for split in columns), label_names)
    checked = {name: split.to_dataset(label_names) for name, split in zip(splits, columns, strict=True)}
    return TextSplits(checked, label_names, {name: dataset_fingerprint(split) for name, split in checked.items()})


@dataclass(frozen=True)
class _Columns:
    """One split: the numbers of its rows, its texts, its labels as integers, text or lists of text, and their names as
    far as it has them."""

    where: str
    rows: npt.NDArray[np.int64]
    texts: pa.ChunkedArray
    labels: pa.ChunkedArray
    class_names: list[str] | None
    label_texts: list[str] | None

    @classmethod
    def from_split(
        cls,
        location: str,
        split: datasets.Dataset,
        text_column: ColumnNames,
        label_column: str | None,
        any_labels: bool,
        *,
        separator: str | None,
        label_columns: Sequence[str] | None,
    ) -> _Columns:
        if len(split) == 0:
            raise TextFormatError(f"{location}: no rows; expected at least one text with its label")
        table: pa.Table = split.with_format("arrow")[:]
        wanted: dict[str, tuple[ColumnNames, Sequence[str]]] = {"text": (text_column, TEXT_COLUMNS)}
        if not label_columns:
            wanted["label"] = (label_column, LABEL_COLUMNS)
        if not (label_columns or label_column or {*LABEL_COLUMNS} & {*split.column_names}):
            marks = find_mark_columns(split)
            if len(marks) > 1:
                raise TextFormatError(
                    f"{location}: no column of the usual names {', '.join(LABEL_COLUMNS)} for the label, but 0 and 1 "
                    f"in {_shorten_list(marks)}; name those that are labels of which a text may have several (or set "
                    "`label_columns`), or the one that is the label (or set `label_column`)"
                )
        text_names, *label_names = find_columns(location, split.column_names, wanted)
        checks = RowChecks(location, len(split))
        texts = join_text_columns(checks, table, text_names)
        blank = f"the text in column {', '.join(map(repr, text_names))} is empty: {{value!r}}; leave the row out"
        checks.refuse_rows(find_blank_texts(texts), texts, blank)
        class_names, label_name = None, label_names[0][0] if label_names else ""
        lists = None
        if label_columns:
            lists = read_label_columns(checks, split, label_columns)
        elif is_list_of_labels(split.features[label_name]):
            lists, class_names = read_label_lists(checks, split, label_name)
        elif separator:
            lists = split_label_cells(checks, split, label_name, separator)
        if lists is not None:
            return cls(location, checks.rows[checks.kept], checks.select_kept_rows(texts), lists, class_names, None)
        labels = cast_to_plain_type(table.column(label_name))
        checks.refuse_rows(pc.is_null(labels), labels, f"no label in column {label_name!r}; leave the row out")
        if pa.types.is_uint64(labels.type):  # what int64 cannot hold comes out below 0
            numbers = pc.fill_null(labels.cast(pa.int64(), safe=False), 0)
            checks.refuse_rows(pc.less(numbers, 0), labels, f"label {{value}} in column {label_name!r}; {TOO_LARGE}")
            labels = numbers
        elif pa.types.is_integer(labels.type):
            labels = labels.cast(pa.int64())
        elif pa.types.is_floating(labels.type) and pc.all(_mark_whole_numbers(labels)).as_py():
            record_note(location, WITH_FRACTION, len(labels))
            labels = labels.cast(pa.int64(), safe=False)
        if any_labels and pa.types.is_boolean(labels.type):
            labels = labels.cast(pa.string())
        feature = split.features[label_name]
        class_names = list(feature.names) if isinstance(feature, datasets.ClassLabel) else None
        label_description = f"label {{value}} in column {label_name!r}"
        if class_names is not None:
            unknown = pc.or_(pc.less(labels, 0), pc.greater_equal(labels, len(class_names)))
            checks.refuse_rows(
                unknown, labels, f"{label_description}; expected 0..{len(class_names) - 1} for {class_names}"
            )
        elif pa.types.is_integer(labels.type):
            checks.refuse_rows(
                pc.and_(pc.less(labels, 0), not any_labels), labels, f"{label_description}; expected 0 or more"
            )
        elif labels.type == pa.string():
            checks.refuse_rows(
                find_blank_texts(labels), labels, f"the label in column {label_name!r} is empty: {{value!r}}"
            )
        if not (pa.types.is_integer(labels.type) or labels.type == pa.string()):
            raise TextFormatError(_describe_wrong_label_type(location, label_name, str(labels.type), labels, 0))
        labels, texts = checks.select_kept_rows(labels), checks.select_kept_rows(texts)
        if not len(labels):
            raise TextFormatError(f"{location}: no rows are left; expected at least one text with its label")
        if labels.type == pa.string() and pc.all(pc.match_substring_regex(labels, _DECIMAL)).as_py():
            row = pc.index(pc.match_substring_regex(labels, _FRACTION), True).as_py()
            if row >= 0:
                raise TextFormatError(
                    _describe_wrong_label_type(location, label_name, "number with a fraction", labels, row)
                )
        label_texts = None
        if class_names is None and LABEL_TEXT in split.column_names and label_name != LABEL_TEXT:
            label_texts = [str(value) for value in checks.select_kept_rows(table.column(LABEL_TEXT)).to_pylist()]
        return cls(location, checks.rows[checks.kept], texts, labels, class_names, label_texts)

    @property
    def has_lists(self) -> bool:
        """Whether a text may have several labels."""
        return bool(pa.types.is_list(self.labels.type))

    def fit_to_model(self, several_labels: bool) -> _Columns:
        """Return the split with lists of one label where the model gives several and the split has one for each text.

        Raises:
            TextFormatError: the split has several labels a text, and the model gives one.
        """
        if self.has_lists and not several_labels:
            raise TextFormatError(
                f"{self.where}: a text may have several labels here, but the model gives each one; expected one label "
                "for each text: take other data, or a model that was trained on several labels"
            )
        if self.has_lists or not several_labels:
            return self
        names = self._name_labels().to_pylist()
        record_note(self.where, "texts have one label each here; the model gives any number of them", len(names))
        return replace(self, labels=pa.chunked_array([pa.array([[name] for name in names])]), class_names=None)

    def refuse_unknown_lists(self, known_labels: Sequence[str]) -> _Columns:
        """Return the split without the rows that have a label which the model does not have.

        Raises:
            TextFormatError: there are some, unless they are left out, or nothing else.
        """
        known, lists = set(known_labels), self.labels.to_pylist()
        unknown = [[name for name in row if name not in known] for row in lists]
        checks = RowChecks(self.where, len(lists), self.rows)
        checks.refuse_rows(
            np.array([bool(row) for row in unknown], np.bool_),
            self.labels,
            lambda row: (
                f"label {unknown[row][0]!r}, which the model does not have; {sum(map(bool, unknown)):,} of "
                f"{len(lists):,} rows have such labels; it has {_shorten_list(known_labels)}; correct them (or set "
                "`skip_bad`, which leaves these rows out)"
            ),
        )
        if not checks.kept.any():
            raise TextFormatError(
                f"{self.where}: no row has only labels of the model; it has {_shorten_list(known_labels)}"
            )
        left = {"texts": checks.select_kept_rows(self.texts), "labels": checks.select_kept_rows(self.labels)}
        return replace(self, rows=self.rows[checks.kept], **left)

    def _name_labels(self) -> pa.ChunkedArray:
        """Return the name of each row's label, as far as the split has names."""
        labels = self.labels
        if self.class_names is not None:
            labels = pa.array(self.class_names, pa.string()).take(labels.combine_chunks())
        elif pa.types.is_integer(labels.type) and self.label_texts is not None:
            labels = pa.array(self.label_texts, pa.string())
        return pa.chunked_array(labels if isinstance(labels, pa.ChunkedArray) else [labels]).cast(pa.string())

    def replace_with_known_names(self, known_labels: Sequence[str]) -> _Columns:
        """Return the split with the names of labels, which are all among the known ones, in the place of numbers.

        Raises:
            TextFormatError: unknown labels, unless their rows are left out.
        """
        labels = self._name_labels()
        unknown = pc.invert(pc.is_in(labels, pa.array(list(known_labels), pa.string())))
        counts = Counter(labels.filter(unknown).to_pylist())
        most_common = ", ".join(f"{name!r} ({count})" for name, count in counts.most_common(5))
        checks = RowChecks(self.where, len(labels), self.rows)
        checks.refuse_rows(
            unknown,
            labels,
            lambda row: (
                f"label {labels[row].as_py()!r}, which the model does not have; {counts.total():,} of "
                f"{len(labels):,} rows have such labels, {most_common}; it has {_shorten_list(known_labels)}; correct "
                "them (or set `skip_bad`, which leaves them out)"
            ),
        )
        if not checks.kept.any():
            raise TextFormatError(
                f"{self.where}: no row has a label of the model; it has {_shorten_list(known_labels)}"
            )
        left = {"texts": checks.select_kept_rows(self.texts), "labels": checks.select_kept_rows(labels)}
        return replace(self, rows=self.rows[checks.kept], **left, class_names=None, label_texts=None)

    def to_dataset(self, names: Sequence[str]) -> datasets.Dataset:
        labels = self.labels
        if self.has_lists:
            numbers = {name: number for number, name in enumerate(names)}
            lists = [sorted(numbers[name] for name in row) for row in labels.to_pylist()]
            table = pa.table({"text": self.texts, "label": pa.array(lists, pa.list_(pa.int64()))})
            classes = datasets.List(datasets.ClassLabel(names=list(names)))
            features = datasets.Features({"text": datasets.Value("string"), "label": classes})
            in_memory = datasets.table.InMemoryTable(table.cast(features.arrow_schema))
            return datasets.Dataset(in_memory, info=datasets.DatasetInfo(features=features))
        if labels.type == pa.string():
            labels = pc.index_in(labels, pa.array(names))
        table = pa.table({"text": self.texts, "label": labels.cast(pa.int64())})
        return datasets.Dataset(datasets.table.InMemoryTable(table))


def _describe_wrong_label_type(location: str, name: str, kind: str, labels: pa.ChunkedArray, row: int) -> str:
    return (
        f"{location}: column {name!r} has the type {kind} (row {row}: {labels[row].as_py()}); expected integers "
        "0..L-1, names, or ClassLabel: write them as names or whole numbers"
    )


def _mark_whole_numbers(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.and_(pc.equal(pc.floor(labels), labels), pc.less(pc.abs(labels), float(2**53)))


def _convert_labels_to_integers(columns: Sequence[_Columns]) -> list[_Columns]:
    """Return the splits with labels as integers where in all of them every label is written as a whole number."""
    texts = [split for split in columns if split.labels.type == pa.string()]
    if not all(pc.all(pc.match_substring_regex(split.labels, _WHOLE)).as_py() for split in texts):
        return list(columns)
    for split in texts:
        record_note(split.where, WITH_FRACTION, pc.sum(pc.match_substring(split.labels, ".")).as_py())
    return [
        replace(split, labels=pc.replace_substring_regex(split.labels, r"\.0*$", "").cast(pa.int64()))
        if split.labels.type == pa.string()
        else split
        for split in columns
    ]


def _collect_names_of_lists(
    columns: Sequence[_Columns], label_columns: Sequence[str] | None, known_labels: Sequence[str] | None
) -> list[str]:
    """Return the names of the labels of which a text may have several: of the model, the columns, classes, or lists."""
    first = columns[0]
    for split in columns:
        if not split.has_lists or split.class_names != first.class_names:
            raise TextFormatError(
                f"{split.where} has the labels {split.class_names or split.labels.type}, but {first.where} "
                f"{first.class_names or first.labels.type}; expected the same in all splits"
            )
    names = list(known_labels or label_columns or first.class_names or ())
    names = names or list_label_names(split.labels for split in columns)
    if len(names) < 2:
        only = f"the only label is {names[0]!r}" if names else "no text has a label"
        raise TextFormatError(f"{first.where}: {only}; expected two or more")
    return names


def _list_integer_labels(columns: Sequence[_Columns]) -> list[str] | None:
    """Return the labels that are integers, in order; None where these are 0, 1, … or labels are no integers."""
    if any(split.class_names is not None or not pa.types.is_integer(split.labels.type) for split in columns):
        return None
    numbers = sorted({number for split in columns for number in pc.unique(split.labels).to_pylist()})
    return None if numbers == list(range(len(numbers))) else [str(number) for number in numbers]


def _collect_label_names(columns: Sequence[_Columns], integers: list[str] | None = None) -> list[str]:
    """Return the names of labels 0, 1, ..., the same in all splits: `integers` where they were others."""
    first = columns[0]
    for split in columns:
        if split.class_names != first.class_names or split.labels.type.id != first.labels.type.id:
            raise TextFormatError(
                f"{split.where} has the labels {split.class_names or split.labels.type}, but {first.where} "
                f"{first.class_names or first.labels.type}; expected the same in all splits"
            )
    if first.class_names is not None:
        names = first.class_names
    elif integers is not None:
        names = integers
    elif first.labels.type == pa.string():
        names = sorted({name for split in columns for name in pc.unique(split.labels).to_pylist()})
    else:
        numbers = sorted({number for split in columns for number in pc.unique(split.labels).to_pylist()})
        if numbers != list(range(len(numbers))):
            missing = next(number for number in range(len(numbers)) if number not in numbers)
            raise TextFormatError(
                f"{first.where}: the labels are {_shorten_list(numbers)}; expected 0..L-1, but no row has {missing}"
            )
        names = _name_integer_labels(columns, len(numbers))
    if len(names) < 2:
        raise TextFormatError(f"{first.where}: the only label is {names[0]!r}; expected two or more")
    return names


def _name_integer_labels(columns: Sequence[_Columns], count: int) -> list[str]:
    """Return the names of integer labels in the column `label_text`; without such a column, the numbers as text."""
    names: dict[int, str] = {}
    for split in columns:
        for row, (number, name) in enumerate(zip(split.labels.to_pylist(), split.label_texts or [], strict=False)):
            if names.setdefault(number, name) != name:
                raise TextFormatError(
                    f"{split.where}, row {row}: {LABEL_TEXT} {name!r} for label {number}, which is {names[number]!r} "
                    "in another row; expected one name for each label"
                )
    label_names = [names.get(number, str(number)) for number in range(count)]
    if len(set(label_names)) < count:
        raise TextFormatError(
            f"{columns[0].where}: {LABEL_TEXT} gives the names {label_names}; expected different ones"
        )
    return label_names


def _shorten_list(values: Sequence[object]) -> str:
    shown = ", ".join(map(str, values[:10]))
    return shown if len(values) <= 10 else f"{shown}, ... {values[-1]}"


def _read_file(path: Path, text_column: ColumnNames, label_names: Sequence[str | None]) -> pa.Table:
    """Return a file as a table; `label_names` are the label column, or None, and columns of 0 and 1."""
    texts = list_column_names(text_column)
    kind = get_unpacked_suffix(path)
    if kind not in FILE_KINDS:
        raise DatasetFileError(f"{path} is no {', '.join(FILE_KINDS)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return read_parquet(path)
    if kind == ".jsonl":
        return _read_json_table(path, {*TEXT_COLUMNS, *LABEL_COLUMNS, LABEL_TEXT, *texts, *label_names})
    label_columns = [name for name in label_names if name] or LABEL_COLUMNS[:1]
    return read_csv_or_tsv(path, (*(texts or TEXT_COLUMNS[:1]), *label_columns))


def _read_json_table(path: Path, column_names: Container[str | None]) -> pa.Table:
    """Read JSON lines; columns that are not requested stay empty, since they may hold anything."""
    rows = read_json_lines(path)
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(
        {
            name: _build_column(path, name, [row.get(name) for row in rows])
            if name in column_names
            else pa.nulls(len(rows))
            for name in names
        }
    )


def _build_column(path: Path, name: str, values: list[Any]) -> pa.Array:
    """Return values of one type as an Arrow array.

    Raises:
        TextFormatError: they are of several types, or a number is too large.
    """
    for row, value in enumerate(values):
        if isinstance(value, int) and abs(value) > MOST:
            raise TextFormatError(f"{path}, row {row}: {str(value)[:30]} in column {name!r}; {TOO_LARGE}")
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        kinds = [type(value) for value in values]
        other = next((row for row, kind in enumerate(kinds) if kind != kinds[0]), 0)
        raise TextFormatError(
            f"{path}: column {name!r} is {values[0]!r} in row 0 and {values[other]!r} in row {other}; expected one type"
        ) from None


def note_contradictory_labels(location: str, groups: npt.NDArray[np.int64], labels: npt.NDArray[np.int64]) -> None:
    """Record a note on how many texts occur again with another label.

    Args:
        location: Name of the data in messages.
        groups: (rows,) group number of each text, equal for equal texts, from `number_groups_by_key`.
        labels: (rows,) class number of each text; or (rows, L) 0 and 1 where it may have several.
    """
    if labels.ndim == 2:
        labels = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.stack([groups, labels], axis=1), axis=0)
    texts, number = np.unique(pairs[:, 0], return_counts=True)
    rows = int(np.isin(groups, texts[number > 1]).sum())
    record_note(
        location, "texts stand there again with another label, each read as it is; correct those that are slips", rows
    )
