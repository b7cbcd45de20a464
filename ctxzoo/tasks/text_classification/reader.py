"""Reads texts with one label each and checks every row before anything is trained on it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.notices import warn_of_lookalikes
from ctxzoo.data.row_files import read_delimited, refuse_repeated
from ctxzoo.data.sources import DatasetFileError, dataset_fingerprint, load_splits, plain_column, resolve_dataset
from ctxzoo.data.text_columns import TEXT_COLUMNS, ColumnNames, are_blank, find_columns, joined_texts_of, refuse_row
from ctxzoo.data.text_files import json_object, read_utf8
from ctxzoo.tasks.text_classification.sample import sample_texts

LABEL_COLUMNS = ("label", "labels", "category", "class", "target")
LABEL_TEXT = "label_text"
FILE_KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
MOST = 2**63 - 1  # that an int64 holds
TOO_LARGE = "expected 0..L-1 for L labels; write other numbers as text"


@dataclass(frozen=True)
class TextSplits:
    """Checked splits.

    Attributes:
        splits: per split the columns `text` (str) and `label` (int64, 0..labels-1).
        label_names: the name of each label.
        fingerprint: content hash per split, the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    label_names: list[str]
    fingerprint: dict[str, str]


def read_texts(
    dataset: str, data_dir: str | None = None, text_column: ColumnNames = None, label_column: str | None = None
) -> TextSplits:
    """Read and check a dataset.

    Labels are those of a `ClassLabel` column; or integers 0..L-1, each in use, named by a column `label_text` where
    there is one; or text, numbered in alphabetical order.

    Args:
        dataset: "sample" (the generated corpus); a .csv, .tsv (both with a header), .jsonl or .parquet file, whose rows
            are the split "train"; a folder or Hub id that `datasets` can load, of which the splits train, validation
            and test are read.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        text_column: one name, or several, whose texts are put together by `joined_text`; default the first of
            `TEXT_COLUMNS` that is there.
        label_column: default the first of `LABEL_COLUMNS` that is there.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read, or is of another kind.
        TextFormatError: a row or column is not as it should be; the message names split or file, row (counted from 0
            at the first after a header) and value.
    """
    splits, origin = load_texts(dataset, data_dir, text_column, label_column)
    return check_texts(splits, text_column=text_column, label_column=label_column, origin=origin)


def load_texts(
    dataset: str, data_dir: str | None = None, text_column: ColumnNames = None, label_column: str | None = None
) -> tuple[dict[str, datasets.Dataset], dict[str, str]]:
    """Return the splits of a dataset as they are, and what messages call each; arguments as in `read_texts`.

    Raises:
        DatasetUnavailableError, DatasetFileError, TextFormatError: see `read_texts`.
    """
    if dataset == SAMPLE:
        splits = sample_texts()
        return dict(splits), {name: f"split {name!r}" for name in splits}
    path = Path(resolve_dataset(dataset, data_dir))
    if path.is_file():
        split = datasets.Dataset(datasets.table.InMemoryTable(_read_file(path, text_column, label_column)))
        return {"train": split}, {"train": str(path)}
    loaded = load_splits(dataset, data_dir, sample=True)
    found = {name: loaded[name] for name in SPLITS if name in loaded}
    if not found:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    return found, {name: f"dataset {dataset!r}, split {name!r}" for name in found}


def check_texts(
    splits: Mapping[str, datasets.Dataset],
    *,
    text_column: ColumnNames = None,
    label_column: str | None = None,
    origin: Mapping[str, str] | None = None,
    any_labels: bool = False,
) -> TextSplits:
    """Check splits that are already loaded and put their columns into the one form.

    Args:
        splits: name to dataset.
        text_column, label_column: as in `read_texts`.
        origin: what error messages call a split, default `split 'name'`.
        any_labels: whole numbers other than 0..L-1 are labels too, and truth values, named as they are written.

    Raises:
        TextFormatError: as in `read_texts`.
    """
    columns = [
        _Columns.of((origin or {}).get(name, f"split {name!r}"), split, text_column, label_column, any_labels)
        for name, split in splits.items()
    ]
    integers = _integer_names(columns) if any_labels else None
    if integers is not None:
        columns = [replace(split, labels=split.labels.cast(pa.string())) for split in columns]
    label_names = _label_names(columns, integers)
    warn_of_lookalikes(", ".join(split.where for split in columns), label_names)
    checked = {name: split.numbered(label_names) for name, split in zip(splits, columns, strict=True)}
    return TextSplits(checked, label_names, {name: dataset_fingerprint(split) for name, split in checked.items()})


@dataclass(frozen=True)
class _Columns:
    """One split: its texts, its labels as integers or text, and the names of labels as far as it names them."""

    where: str
    texts: pa.ChunkedArray
    labels: pa.ChunkedArray
    class_names: list[str] | None
    label_texts: list[str] | None

    @classmethod
    def of(
        cls, where: str, split: datasets.Dataset, text_column: ColumnNames, label_column: str | None, any_labels: bool
    ) -> _Columns:
        if len(split) == 0:
            raise TextFormatError(f"{where}: no rows; expected at least one text with its label")
        table: pa.Table = split.with_format("arrow")[:]
        wanted = {"text": (text_column, TEXT_COLUMNS), "label": (label_column, LABEL_COLUMNS)}
        text_names, (label_name,) = find_columns(where, split.column_names, wanted)
        texts = joined_texts_of(where, table, text_names)
        blank = f"the text in column {', '.join(map(repr, text_names))} is empty: {{value!r}}; leave the row out"
        refuse_row(where, are_blank(texts), texts, blank)
        labels = plain_column(table.column(label_name))
        refuse_row(where, pc.is_null(labels), labels, f"no label in column {label_name!r}; leave the row out")
        if pa.types.is_integer(labels.type):
            numbers = labels.cast(pa.int64(), safe=False)
            if pa.types.is_uint64(labels.type):  # what int64 cannot hold comes out below 0
                refuse_row(where, pc.less(numbers, 0), labels, f"label {{value}} in column {label_name!r}; {TOO_LARGE}")
            labels = numbers
        if any_labels and pa.types.is_boolean(labels.type):
            labels = labels.cast(pa.string())
        feature = split.features[label_name]
        class_names = list(feature.names) if isinstance(feature, datasets.ClassLabel) else None
        if class_names is not None:
            known = f"expected 0..{len(class_names) - 1} for {class_names}"
            unknown = pc.or_(pc.less(labels, 0), pc.greater_equal(labels, len(class_names)))
            refuse_row(where, unknown, labels, f"label {{value}} in column {label_name!r}; {known}")
        elif pa.types.is_integer(labels.type):
            bad = pc.and_(pc.less(labels, 0), not any_labels)
            refuse_row(where, bad, labels, f"label {{value}} in column {label_name!r}; expected 0 or more")
        elif labels.type == pa.string():
            refuse_row(where, are_blank(labels), labels, f"the label in column {label_name!r} is empty: {{value!r}}")
        else:
            first = labels[0].as_py()
            raise TextFormatError(
                f"{where}: column {label_name!r} has the type {labels.type} (row 0: {first!r}); expected integers "
                "0..L-1, names, or ClassLabel: write them as names or whole numbers"
            )
        label_texts = None
        if class_names is None and LABEL_TEXT in split.column_names and label_name != LABEL_TEXT:
            label_texts = [str(value) for value in table.column(LABEL_TEXT).to_pylist()]
        return cls(where, texts, labels, class_names, label_texts)

    def numbered(self, names: Sequence[str]) -> datasets.Dataset:
        labels = self.labels
        if labels.type == pa.string():
            labels = pc.index_in(labels, pa.array(names))
        table = pa.table({"text": self.texts, "label": labels.cast(pa.int64())})
        return datasets.Dataset(datasets.table.InMemoryTable(table))


def _integer_names(columns: Sequence[_Columns]) -> list[str] | None:
    """Return the integers that are labels, in their order; None where they number labels, or are none."""
    if any(split.class_names is not None or not pa.types.is_integer(split.labels.type) for split in columns):
        return None
    numbers = sorted({number for split in columns for number in pc.unique(split.labels).to_pylist()})
    return None if numbers == list(range(len(numbers))) else [str(number) for number in numbers]


def _label_names(columns: Sequence[_Columns], integers: list[str] | None = None) -> list[str]:
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
                f"{first.where}: the labels are {_some(numbers)}; expected 0..L-1, but no row has {missing}"
            )
        names = _texts_of_numbers(columns, len(numbers))
    if len(names) < 2:
        raise TextFormatError(f"{first.where}: the only label is {names[0]!r}; expected two or more")
    return names


def _texts_of_numbers(columns: Sequence[_Columns], count: int) -> list[str]:
    """Return what the column `label_text` calls the numbers; where there is none, the numbers themselves."""
    names: dict[int, str] = {}
    for split in columns:
        for row, (number, name) in enumerate(zip(split.labels.to_pylist(), split.label_texts or [], strict=False)):
            if names.setdefault(number, name) != name:
                raise TextFormatError(
                    f"{split.where}, row {row}: {LABEL_TEXT} {name!r} for label {number}, which is {names[number]!r} "
                    "in another row; expected one name for each label"
                )
    found = [names.get(number, str(number)) for number in range(count)]
    if len(set(found)) < count:
        raise TextFormatError(f"{columns[0].where}: {LABEL_TEXT} gives the names {found}; expected different ones")
    return found


def _some(values: Sequence[int]) -> str:
    shown = ", ".join(map(str, values[:10]))
    return shown if len(values) <= 10 else f"{shown}, ... {values[-1]}"


def _read_file(path: Path, text_column: ColumnNames, label_column: str | None) -> pa.Table:
    texts = [text_column] if isinstance(text_column, str) else list(text_column or ())
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise DatasetFileError(f"{path} is no {', '.join(FILE_KINDS)} file; name one, a folder, or a Hub id")
    try:
        if kind == ".parquet":
            refuse_repeated(path, pa.parquet.read_schema(path).names)
            table: pa.Table = pa.parquet.read_table(path)
            return table.replace_schema_metadata()
        if kind == ".jsonl":
            return _read_json_lines(path, {*TEXT_COLUMNS, *LABEL_COLUMNS, LABEL_TEXT, *texts, label_column})
        return read_delimited(path, (*TEXT_COLUMNS, *texts))
    except (pa.ArrowException, OSError) as error:
        raise DatasetFileError(f"{path} cannot be read: {error}") from error


def _read_json_lines(path: Path, requested: Container[str | None]) -> pa.Table:
    """Read JSON lines; columns that are not requested stay empty, since they may hold anything."""
    rows = [
        json_object(line, f"{path}, line {number}")
        for number, line in enumerate(read_utf8(path).split("\n"), start=1)
        if line.strip()
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(
        {
            name: _array(path, name, [row.get(name) for row in rows]) if name in requested else pa.nulls(len(rows))
            for name in names
        }
    )


def _array(path: Path, name: str, values: list[Any]) -> pa.Array:
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
