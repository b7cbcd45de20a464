"""Reads sentences whose words have one tag each, checks every sentence, and cuts the splits that a corpus lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ctxzoo.data.formats import SAMPLE, Rows, TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import RowGroups, hash_normalized_text, number_groups_by_key
from ctxzoo.data.reading_notes import note_similar_labels, record_note
from ctxzoo.data.row_checks import RowChecks
from ctxzoo.data.row_files import load_split_tables
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint, resolve_dataset
from ctxzoo.models.ops_bilstm_tagger import recognise_scheme
from ctxzoo.tasks.token_classification.sources import DOCUMENT, KINDS, TAGS, TOKENS, read_tag_file, sample_tags

if TYPE_CHECKING:
    import datasets

TAG_COLUMNS = ("pos_tags", "xpos", "upos", "ner_tags", TAGS)
LEAST_DOCUMENTS = 10  # with fewer, sentences are divided


@dataclass(frozen=True)
class TokenSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name: columns `tokens` (lists of str), `labels` (lists of int64,
            0..labels-1) and, if known, `file` (the document).
        label_names: Tag of each label number, in alphabetical order, or in the order of a `ClassLabel` column.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    label_names: list[str]
    fingerprint: dict[str, str]


def read_tokens(
    dataset: str,
    data_dir: str | None = None,
    tag_column: str | None = None,
    known_labels: Sequence[str] | None = None,
) -> TokenSplits:
    """Read and check a dataset.

    Args:
        dataset: Data to read: "sample" (generated sentences); a file as `read_tag_file` takes it, which gives the split
            "train"; a folder or Hub id with list columns `tokens` and tags.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        tag_column: Name of the column of tags; default: the first of `TAG_COLUMNS` that is there.
        known_labels: Tag names of a model, in its order, to which the data's tags are matched by name; sentences with
            another tag are an error, or skipped with `--skip_bad`.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a sentence or column is not as it should be; the message names split, row (from 0) and value.
    """
    splits = load_tokens(dataset, data_dir)
    return check_tokens(splits, tag_column, origin=f"dataset {dataset!r}", known_labels=known_labels)


def load_tokens(dataset: str, data_dir: str | None = None) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset as they are; arguments as in `read_tokens`.

    Raises:
        DatasetUnavailableError, DatasetFileError, TextFormatError: see `read_tokens`.
    """
    if dataset == SAMPLE:
        return dict(sample_tags())
    path = Path(resolve_dataset(dataset, data_dir))
    if path.is_file():
        return {"train": read_tag_file(path)}
    return load_split_tables(dataset, data_dir, KINDS, lambda file: read_tag_file(file, of_folder=True).data.table)[0]


def read_label_names(folder: Path) -> list[str]:
    """Return the names of the tags of a user's rows, as `ctxzoo train` has written them into a folder."""
    import datasets

    features = datasets.Features.from_arrow_schema(pq.read_schema(folder / "train.parquet"))
    names: list[str] = features[TAGS].feature.names
    return names


def check_tokens(
    splits: Mapping[str, datasets.Dataset],
    tag_column: str | None = None,
    *,
    origin: str = "the data",
    known_labels: Sequence[str] | None = None,
) -> TokenSplits:
    """Check splits that are already loaded and put their columns into the one form.

    Args:
        splits: Loaded dataset of each split, by split name.
        tag_column, known_labels: Name of the column of tags, and tag names of a model, as in `read_tokens`.
        origin: Description of the data for error messages, such as "dataset 'x'".

    Raises:
        TextFormatError: as in `read_tokens`.
    """
    columns = {name: _read_columns(f"{origin}, split {name!r}", split, tag_column) for name, split in splits.items()}
    if known_labels is None:
        label_names = _collect_label_names(origin, splits, columns)
        note_similar_labels(origin, label_names)
        note_span_tags(origin, label_names)
    else:
        label_names = list(known_labels)
        columns = {
            name: _keep_known_tags(f"{origin}, split {name!r}", tables, label_names) for name, tables in columns.items()
        }
    checked = {name: _convert_tags_to_labels(tables, label_names) for name, tables in columns.items()}
    return TokenSplits(checked, label_names, {name: dataset_fingerprint(split) for name, split in checked.items()})


def note_span_tags(origin: str, label_names: Sequence[str]) -> None:
    """Note that tags are those of spans, whose scores are then counted too."""
    scheme = recognise_scheme(label_names)
    if scheme is not None:
        labels = {tag.partition("-")[2] for tag in label_names} - {""}
        record_note(
            origin,
            f"labels of spans, by tags in the scheme {scheme}; precision, recall and F1 are of spans",
            len(labels),
        )


def group_sentences(checked: TokenSplits) -> RowGroups:
    """Group the rows that must stay in one split: sentences of one document or, without documents, equal sentences."""
    splits = checked.splits
    if all(DOCUMENT in split.column_names for split in splits.values()):
        documents = {
            name: [f"{name}/{document}" for document in iterate_column(split[DOCUMENT])]
            for name, split in splits.items()
        }
        if len(set(documents.get("train", ()))) >= LEAST_DOCUMENTS:
            groups = number_groups_by_key(documents)
            return RowGroups(groups=groups, unit="sentences", together="sentences of one document")
    keys = {
        name: [hash_normalized_text(" ".join(words)) for words in iterate_column(split[TOKENS])]
        for name, split in splits.items()
    }
    return RowGroups(groups=number_groups_by_key(keys), unit="sentences", together="equal sentences")


@dataclass(frozen=True)
class _Columns:
    """One split: numbers of rows, words, tags as text, and the names of tags where their column is a `ClassLabel`."""

    rows: npt.NDArray[np.int64]
    tokens: pa.Array
    tags: pa.Array
    files: pa.Array | None
    class_names: list[str] | None


def _keep_known_tags(location: str, columns: _Columns, known_tags: Sequence[str]) -> _Columns:
    """Return the sentences all of whose tags a model has.

    Raises:
        TextFormatError: another tag, unless its sentence is left out; no sentence is left.
    """
    tags = columns.tags.flatten()
    unknown = pc.invert(pc.is_in(tags, pa.array(list(known_tags), pa.string())))
    counts = Counter(tags.filter(unknown).to_pylist())
    most_common = ", ".join(f"{name!r} ({count})" for name, count in counts.most_common(5))
    checks = RowChecks(location, len(columns.tags), columns.rows)
    bad = np.zeros(len(columns.tags), np.bool_)
    bad[pc.list_parent_indices(columns.tags).filter(unknown).to_numpy()] = True
    reason = (
        f"a tag that the model does not have; {counts.total():,} of {len(tags):,} words have such tags, {most_common}; "
        "correct them (or set `skip_bad`, which leaves their sentences out)"
    )
    checks.refuse_rows(bad, columns.tags, lambda row: reason)
    if not checks.kept.any():
        raise TextFormatError(f"{location}: no sentence has tags of the model alone")
    is_known = pa.array(checks.kept)
    files = None if columns.files is None else columns.files.filter(is_known)
    return _Columns(
        columns.rows[checks.kept], columns.tokens.filter(is_known), columns.tags.filter(is_known), files, None
    )


def _read_columns(location: str, split: datasets.Dataset, tag_column: str | None) -> _Columns:
    if len(split) == 0:
        raise TextFormatError(f"{location}: no rows; expected at least one sentence with its tags")
    table: pa.Table = split.with_format("arrow")[:]
    tag_columns = [name for name in TAG_COLUMNS if name in table.column_names]
    tag_name = tag_column or (tag_columns[0] if tag_columns else None)
    if tag_column is None and tag_columns[1:]:
        note = f"columns could hold the tags too, {', '.join(map(repr, tag_columns[1:]))}; read is {tag_columns[0]!r}"
        record_note(location, note, len(tag_columns) - 1)
    for meaning, name in (("words", TOKENS), ("tags", tag_name)):
        if name not in table.column_names:
            missing = f"column {name!r}" if name else f"column of the usual names {', '.join(TAG_COLUMNS)}"
            raise TextFormatError(f"{location}: no {missing} for the {meaning}; there are {table.column_names}")
    assert tag_name is not None
    checks = RowChecks(location, len(split))
    tokens, tags = (_read_list_column(checks, name, table) for name in (TOKENS, tag_name))
    class_names = _get_class_names(split.features[tag_name])
    if class_names is not None:
        tags = _convert_tags_to_names(location, tag_name, tags, class_names)
    for name, column in ((TOKENS, tokens), (tag_name, tags)):
        if column.type.value_type != pa.string():
            raise TextFormatError(f"{location}: column {name!r} holds {column.type.value_type}; expected text")
    lengths, tag_lengths = pc.list_value_length(tokens), pc.list_value_length(tags)
    checks.refuse_rows(pc.equal(lengths, 0), tokens, "the sentence has no word; leave the row out")
    checks.refuse_rows(
        pc.fill_null(pc.not_equal(lengths, tag_lengths), False),
        tokens,
        lambda row: (
            f"{format_count(lengths[row].as_py(), 'words')} but {tag_lengths[row]} in {tag_name!r}; expected one for "
            "each word"
        ),
    )
    _refuse_matching_values(checks, TOKENS, tokens, r"^$|[\s\x0b\x85\p{Z}]", "expected a word without white space")
    _refuse_matching_values(checks, tag_name, tags, r"^\s*$", "expected a tag")
    if not checks.kept.any():
        raise TextFormatError(f"{location}: no rows are left; expected at least one sentence with its tags")
    is_good = pa.array(checks.kept)
    files = table.column(DOCUMENT).combine_chunks().filter(is_good) if DOCUMENT in table.column_names else None
    return _Columns(checks.rows[checks.kept], tokens.filter(is_good), tags.filter(is_good), files, class_names)


def _read_list_column(checks: RowChecks, name: str, table: pa.Table) -> pa.Array:
    column = cast_to_plain_type(table.column(name)).combine_chunks()
    if not pa.types.is_list(column.type):
        raise TextFormatError(
            f"{checks.location}: column {name!r} has the type {column.type}; expected lists, one entry for each word"
        )
    checks.refuse_rows(pc.is_null(column), column, f"nothing in column {name!r}; leave the row out")
    return column


def _get_class_names(feature: object) -> list[str] | None:
    import datasets

    inner = getattr(feature, "feature", None)
    return list(inner.names) if isinstance(inner, datasets.ClassLabel) else None


def _convert_tags_to_names(location: str, column: str, tags: pa.Array, names: Sequence[str]) -> pa.Array:
    values = tags.flatten()
    odd = pc.index(pc.or_kleene(pc.less(values, 0), pc.greater_equal(values, len(names))), True).as_py()
    if odd >= 0:
        raise TextFormatError(
            f"{location}, row {_find_row(tags, odd)}: {values[odd]} in column {column!r}; expected 0..{len(names) - 1}"
        )
    return _replace_values(tags, pa.array(names, pa.string()).take(values))


def _refuse_matching_values(checks: RowChecks, column: str, lists: pa.Array, pattern: str, expected: str) -> None:
    """Leave out, or raise for, the rows with an entry that is missing or in which the pattern is found."""
    values = lists.flatten()
    rows = pc.list_parent_indices(lists)
    bad = pc.fill_null(pc.or_kleene(pc.is_null(values), pc.match_substring_regex(values, pattern)), True)
    places = np.flatnonzero(bad)
    of_rows = rows.to_numpy()[places]
    first = dict(zip(of_rows[::-1].tolist(), places[::-1].tolist(), strict=True))
    is_bad = np.zeros(len(lists), np.bool_)
    is_bad[of_rows] = True
    checks.refuse_rows(is_bad, lists, lambda row: f"{values[first[row]].as_py()!r} in column {column!r}; {expected}")


def _find_row(lists: pa.Array, index: int) -> int:
    row: int = pc.list_parent_indices(lists)[index].as_py()
    return row


def _collect_label_names(
    origin: str, splits: Mapping[str, datasets.Dataset], columns: Mapping[str, _Columns]
) -> list[str]:
    """Return the names of labels 0, 1, ..., the same in all splits."""
    names_of_splits = [split_columns.class_names for split_columns in columns.values()]
    if any(names != names_of_splits[0] for names in names_of_splits):
        raise TextFormatError(f"{origin}: the tags of the splits {list(splits)} have other names; expected the same")
    if names_of_splits[0] is not None:
        return names_of_splits[0]
    names = sorted(
        {tag for split_columns in columns.values() for tag in pc.unique(split_columns.tags.flatten()).to_pylist()}
    )
    if len(names) < 2:
        raise TextFormatError(f"{origin}: the only tag is {names[0]!r}; expected two or more")
    return names


def _convert_tags_to_labels(columns: _Columns, names: Sequence[str]) -> datasets.Dataset:
    import datasets

    labels = pc.index_in(columns.tags.flatten(), pa.array(names)).cast(pa.int64())
    content = {TOKENS: columns.tokens, "labels": _replace_values(columns.tags, labels)}
    if columns.files is not None:
        content[DOCUMENT] = columns.files
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))


def _replace_values(lists: pa.Array, values: pa.Array) -> pa.Array:
    """Return lists of the same lengths with other values."""
    lengths = pc.list_value_length(lists)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    return pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), values)


TENTHS = 10  # parts of `train`; one of them is validation, another test where there is no test split


def assign_rows_to_splits(splits: dict[str, datasets.Dataset]) -> dict[str, tuple[str, Rows]]:
    """Return the name of each split to the split in which its rows are, and these rows, ascending.

    Splits that are there stay as they are. Without `test`, `train` is cut by its column `file`: files count in the
    order of their first sentences, and of each ten the ninth is `validation`, the tenth `test`: no document is in two
    splits, and where files are sorted by category each split has some of each. With `test` but without `validation`,
    the last tenth of the sentences of `train` is that. Nothing is drawn, so that splits are always the same. Without a
    column `file`, or with fewer than ten files, `train` stays whole, and there is no `test`.

    Args:
        splits: Dataset of sentences of each split, by split name.

    Raises:
        ValueError: without `test`, there is no `train`; without `validation`, `train` has fewer than ten sentences.
    """
    dataset_splits = {name: (name, np.arange(len(split))) for name, split in splits.items()}
    if "test" in splits and ("validation" in splits or "train" not in splits):
        return dataset_splits
    if "train" not in splits:
        raise ValueError(f"there is no test split, only {sorted(splits)}, and no train split to cut one from")
    train = splits["train"]
    if "test" in splits:
        num_held_out = len(train) // TENTHS
        if not num_held_out:
            raise ValueError(f"the train split has {len(train)} sentences; a tenth of it is no validation split")
        rows = np.arange(len(train))
        return {
            **dataset_splits,
            "train": ("train", rows[:-num_held_out]),
            "validation": ("train", rows[-num_held_out:]),
        }
    if DOCUMENT not in train.column_names:
        return dataset_splits
    files: dict[str, int] = {}
    part = np.array([files.setdefault(name, len(files)) % TENTHS for name in train[DOCUMENT][:]])
    if len(files) < TENTHS:
        return dataset_splits
    names = {TENTHS - 2: "validation", TENTHS - 1: "test"}
    parts_of_train = {name: ("train", np.flatnonzero(part == number)) for number, name in names.items()}
    if "validation" in splits:
        return {
            **dataset_splits,
            "train": ("train", np.flatnonzero(part != TENTHS - 1)),
            "test": parts_of_train["test"],
        }
    return {"train": ("train", np.flatnonzero(part < TENTHS - 2)), **parts_of_train}
