"""Reads SQuAD-shaped question answering data and checks every row before anything is trained on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, DatasetFileError
from ctxzoo.data.own_splits import RowGroups, hash_normalized_text, merge_groupings, number_groups_by_key
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import (
    cast_to_plain_type,
    dataset_fingerprint,
    load_splits,
    resolve_dataset,
    to_plain_arrow_type,
)
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.tasks.question_answering.sample import build_squad_features, sample_squad
from ctxzoo.tasks.question_answering.squad_json import SquadFormatError, SquadVersion, read_squad_json

STRING_COLUMNS = ("id", "title", "context", "question")
COLUMNS = (*STRING_COLUMNS, "answers")
LEAST_TITLES = 10  # with fewer articles, contexts are divided


@dataclass(frozen=True)
class SquadSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name: columns id, title, context, question (text), answers (`text`: list
            of text, `answer_start`: list of int32 character offsets), then further columns of the source.
        squad_version: Version of the data: "2.0" if questions may lack an answer, else "1.1".
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
        fixed_answer_starts: Number of answer offsets that were corrected, by split name; 0 unless correction was
            requested.
    """

    splits: dict[str, datasets.Dataset]
    squad_version: SquadVersion
    fingerprint: dict[str, str]
    fixed_answer_starts: dict[str, int] = field(default_factory=dict)


def read_squad(
    source: str,
    *,
    data_dir: str | None = None,
    squad_version: Literal["1.1", "2.0", "auto"] = "auto",
    config: str | None = None,
    fix_answer_start: bool = False,
) -> SquadSplits:
    """Read and check a dataset.

    Args:
        source: Data to read: "sample" (generated questions); a SQuAD JSON file (one split, named by "train",
            "validation", "dev" or "test" in the file name, else test); a folder of such files; a folder or Hub id that
            `datasets` can load.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        squad_version: Version of SQuAD, "1.1" or "2.0"; "auto": 2.0 if a JSON file says so or any question has no
            answer.
        config: Name of the dataset's configuration, where it has several.
        fix_answer_start: Whether an answer that is not at its stated offset is moved to its nearest occurrence;
            otherwise it is an error.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read or is not JSON, or `Dataset.save_to_disk` wrote the folder.
        SquadFormatError: a row is not as it should be, unless it is left out with `--skip_bad`; the message names split
            or file, row and id.
    """
    splits, origin, declared = load_squad(source, data_dir=data_dir, config=config)
    return check_squad(
        splits,
        squad_version=squad_version,
        fix_answer_start=fix_answer_start,
        origin=origin,
        declared_version=declared,
    )


def load_squad(
    source: str, *, data_dir: str | None = None, config: str | None = None
) -> tuple[dict[str, datasets.Dataset], dict[str, str], SquadVersion | None]:
    """Load the splits of a dataset unchecked, with each one's name for messages and the declared SQuAD version.

    Args:
        source, data_dir, config: Data to read, folder of datasets, and name of the configuration, as in `read_squad`.

    Raises:
        DatasetUnavailableError, DatasetFileError, SquadFormatError: see `read_squad`.
    """
    if source == SAMPLE:
        generated = sample_squad()
        return dict(generated), {name: f"split {name!r}" for name in generated}, None
    path = Path(resolve_dataset(source, data_dir))
    files = _list_json_files(path)
    if not files:
        loaded = load_splits(source, data_dir, config, sample=True)
        return dict(loaded), {name: f"split {name!r}" for name in loaded}, None
    splits: dict[str, datasets.Dataset] = {}
    origin: dict[str, str] = {}
    declared: set[SquadVersion] = set()
    for file in files:
        split = infer_split_name(file)
        if split in splits:
            raise SquadFormatError(f"{origin[split]} and {file} are both the split {split!r}; leave one of them out")
        splits[split], version = _read_squad_file(file)
        origin[split] = str(file)
        if version is not None:
            declared.add(version)
    return splits, origin, max(declared, default=None)


def check_squad(
    splits: Mapping[str, datasets.Dataset],
    *,
    squad_version: Literal["1.1", "2.0", "auto"] = "auto",
    fix_answer_start: bool = False,
    origin: Mapping[str, str] | None = None,
    declared_version: SquadVersion | None = None,
) -> SquadSplits:
    """Check splits that are already loaded and return them with the columns and types of SQuAD.

    Args:
        splits: Loaded dataset of each split, by split name.
        squad_version: Version of SQuAD, "1.1", "2.0" or "auto", as in `read_squad`.
        fix_answer_start: Whether an answer that is not at its stated offset is moved to its nearest occurrence.
        origin: Description of each split for error messages, by split name; default: "split 'name'".
        declared_version: Version that the data itself states; it decides under "auto", and allows 2.0 data whose
            questions all have answers.

    Raises:
        SquadFormatError: as in `read_squad`.
    """
    if squad_version not in ("1.1", "2.0", "auto"):
        raise ValueError(f"squad_version is {squad_version!r}; expected '1.1', '2.0' or 'auto'")
    if not splits:
        raise SquadFormatError("the dataset has no split")
    checked: dict[str, datasets.Dataset] = {}
    fixed: dict[str, int] = {}
    unanswerable: str | None = None
    for name, dataset in splits.items():
        location = (origin or {}).get(name, f"split {name!r}")
        rows = _CheckedRows(location, _normalize_columns(location, dataset))
        rows.check_columns()
        rows = rows.drop_bad_rows()
        rows.check_answers()
        rows = rows.drop_bad_rows()
        fixed[name] = rows.check_answer_offsets(fix_answer_start)
        rows = rows.drop_bad_rows()
        checked[name] = rows.dataset
        record_note(location, "offsets of answers, moved to the nearest occurrence", fixed[name])
        unanswerable = unanswerable or rows.find_unanswerable()
    version = _decide_version(squad_version, declared_version, unanswerable)
    return SquadSplits(checked, version, {name: dataset_fingerprint(split) for name, split in checked.items()}, fixed)


def group_questions(checked: SquadSplits) -> RowGroups:
    """Group the rows that must stay in one split: questions on one article or, with few articles, on one context."""
    splits = checked.splits
    contexts = number_groups_by_key(
        {name: map(hash_normalized_text, iterate_column(split["context"])) for name, split in splits.items()}
    )
    articles = {title for split in splits.values() for title in split["title"][:]} - {""}
    if len(articles) < LEAST_TITLES:
        return RowGroups(groups=contexts, unit="questions", together="questions on one context")
    # A question without a title is its context's alone.
    titles = number_groups_by_key(
        {
            name: [
                title or hash_normalized_text(context)
                for title, context in zip(iterate_column(split["title"]), iterate_column(split["context"]), strict=True)
            ]
            for name, split in splits.items()
        }
    )
    groups = merge_groupings(contexts, titles)
    return RowGroups(groups=groups, unit="questions", together="questions on one article")


def _decide_version(
    requested: Literal["1.1", "2.0", "auto"], declared: SquadVersion | None, unanswerable_question: str | None
) -> SquadVersion:
    """Return the SQuAD version: the requested one, else the file's, else what the questions show."""
    version = declared if requested == "auto" else requested
    if version == "1.1" and unanswerable_question is not None:
        raise SquadFormatError(
            f"{unanswerable_question}: no answers, but SQuAD 1.1 has answerable questions only; leave it out "
            "(or set `squad_version` to 2.0)"
        )
    if requested == "2.0" and unanswerable_question is None and declared != "2.0":
        raise SquadFormatError(
            "squad_version='2.0', but every question of every split has an answer; add some without "
            "(or set `squad_version` to auto)"
        )
    return version or ("1.1" if unanswerable_question is None else "2.0")


def _normalize_columns(location: str, dataset: datasets.Dataset) -> datasets.Dataset:
    """Return the dataset with the five columns in order and in their types; a copy only where a type differs."""
    missing = [column for column in COLUMNS if column not in dataset.column_names]
    if missing:
        raise SquadFormatError(
            f"{location}: no column {', '.join(missing)}; found {', '.join(dataset.column_names)}, "
            f"expected {', '.join(COLUMNS)}"
        )
    if len(dataset) == 0:
        raise SquadFormatError(f"{location}: no rows")
    extra = [column for column in dataset.column_names if column not in COLUMNS]
    dataset = dataset.select_columns([*COLUMNS, *extra])
    expected = build_squad_features()
    if all(dataset.features[column] == expected[column] for column in COLUMNS):
        return dataset
    table: pa.Table = dataset.with_format("arrow")[:]
    schema = expected.arrow_schema
    for index, column in enumerate(COLUMNS):
        found_type, target = table.schema.field(column).type, schema.field(column).type
        if column == "answers":
            values = _convert_answers(location, table.column(column))
        elif to_plain_arrow_type(found_type) == target:
            values = cast_to_plain_type(table.column(column))
        elif column == "id" and pa.types.is_integer(found_type):
            values = table.column(column).cast(target)
            record_note(location, "numeric ids of questions, read as text", len(table))
        else:
            raise SquadFormatError(f"{location}: column {column!r} has the type {found_type}; expected text")
        table = table.set_column(index, column, values)
    features = datasets.Features({**expected, **{column: dataset.features[column] for column in extra}})
    return _build_dataset(table, features)


def _convert_answers(location: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column of answers, with any text and integer types, to the types of SQuAD."""
    target = build_squad_features().arrow_schema.field("answers").type
    found_type = column.type
    try:
        chunks = [
            pa.StructArray.from_arrays(
                [chunk.field(name).cast(target.field(name).type) for name in ("text", "answer_start")],
                fields=list(target),
                mask=pc.is_null(chunk),
            )
            for chunk in column.chunks
        ]
    except (AttributeError, KeyError, pa.ArrowException) as error:
        raise SquadFormatError(f"{location}: column 'answers' has the type {found_type}; expected {target}") from error
    return pa.chunked_array(chunks, type=target)


def _build_dataset(table: pa.Table, features: datasets.Features) -> datasets.Dataset:
    """Build a dataset from a table of Arrow whose columns have these features."""
    table = datasets.table.InMemoryTable(table.replace_schema_metadata())
    return datasets.Dataset(table, datasets.DatasetInfo(features=features))


class _CheckedRows:
    """One split under check; `where` is what messages call it. Bad rows are errors, or left out of what is kept."""

    def __init__(self, location: str, dataset: datasets.Dataset, numbers: npt.NDArray[np.int64] | None = None) -> None:
        self._where = location
        self._numbers = np.arange(len(dataset)) if numbers is None else numbers  # of its rows, as messages call them
        self.dataset = dataset
        self._table: pa.Table = dataset.with_format("arrow")[:].combine_chunks()
        self._is_bad = np.zeros(len(dataset), np.bool_)

    def check_columns(self) -> None:
        """Check all columns except the answers, and that each answer has an offset."""
        for column in COLUMNS:
            self._refuse_rows(pc.is_null(self._table.column(column)), f"{column} is null")
        for column in ("id", "context", "question"):
            self._refuse_rows(_is_blank(self._table.column(column)), f"{column} is empty")
        self._check_ids_differ()
        texts, starts = self._get_answer_field("text"), self._get_answer_field("answer_start")
        self._refuse_rows(pc.or_(pc.is_null(texts), pc.is_null(starts)), "answers holds null")
        self._refuse_rows(
            pc.not_equal(pc.list_value_length(texts), pc.list_value_length(starts)),
            lambda row: f"{len(texts[row])} answer texts, but {len(starts[row])} values of answer_start",
        )

    def check_answers(self) -> None:
        """Check the texts of the answers and their number of offsets, but not where the offsets point."""
        texts, starts = self._get_answer_field("text"), self._get_answer_field("answer_start")
        parents = pc.list_parent_indices(texts)
        flat_texts, flat_starts = pc.list_flatten(texts), pc.list_flatten(starts)
        self._refuse_rows(pc.or_(pc.is_null(flat_texts), pc.is_null(flat_starts)), "an answer is null", parents)
        self._refuse_rows(_is_blank(flat_texts), "an answer is empty; leave it out", parents)
        if "is_impossible" in self.dataset.column_names:
            impossible = pc.fill_null(self._table.column("is_impossible"), False)
            self._refuse_rows(
                pc.and_(impossible, pc.greater(pc.list_value_length(texts), 0)),
                lambda row: f"is_impossible is true, but there are answers: {texts[row].as_py()}",
            )

    def find_unanswerable(self) -> str | None:
        """Return a description of the first question without answers; None if every question has one."""
        empty = pc.equal(pc.list_value_length(self._get_answer_field("text")), 0)
        row = pc.index(empty, True).as_py()
        return None if row < 0 else self._describe_row(row)

    def drop_bad_rows(self) -> _CheckedRows:
        """Return the rows that are not left out.

        Raises:
            SquadFormatError: none is.
        """
        if not self._is_bad.any():
            return self
        if self._is_bad.all():
            raise SquadFormatError(f"{self._where}: no rows are left")
        left = _build_dataset(self._table.filter(pa.array(~self._is_bad)), self.dataset.features)
        return _CheckedRows(self._where, left, self._numbers[~self._is_bad])

    def check_answer_offsets(self, fix: bool) -> int:
        """Check that answers stand at their offsets; with `fix` correct offsets and return how many."""
        encoded = self._table.column("context").combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().chunk(0)
        contexts = encoded.dictionary.to_pylist()
        numbers = encoded.indices.to_pylist()
        texts = self._get_answer_field("text")
        flat_starts = pc.list_flatten(self._get_answer_field("answer_start")).to_pylist()
        answers = zip(pc.list_parent_indices(texts).to_pylist(), pc.list_flatten(texts).to_pylist(), strict=True)
        moved = 0
        for position, (row, text) in enumerate(answers):
            context, start = contexts[numbers[row]], flat_starts[position]
            if start >= 0 and context.startswith(text, start):
                continue
            nearest = _find_nearest_occurrence(context, text, start)
            if nearest is None or not fix:
                self._leave_row_out(row, _describe_wrong_offset(context, text, start, nearest))
            else:
                flat_starts[position] = nearest
                moved += 1
        if moved:
            self._replace_answer_starts(flat_starts)
        return moved

    def _replace_answer_starts(self, flat_starts: list[int]) -> None:
        """Set the `answer_start` of all answers, in the order of the rows."""
        values = iter(flat_starts)
        answers = [
            {"text": row["text"], "answer_start": [next(values) for _ in row["text"]]}
            for row in self._table.column("answers").to_pylist()
        ]
        features = self.dataset.features
        kind = features.arrow_schema.field("answers").type
        self._table = self._table.set_column(COLUMNS.index("answers"), "answers", pa.array(answers, kind))
        self.dataset = _build_dataset(self._table, features)

    def _get_answer_field(self, name: str) -> pa.Array:
        """Return a field of the answers, "text" or "answer_start", as an array of one list for each row."""
        column = pc.struct_field(self._table.column("answers"), name)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def _check_ids_differ(self) -> None:
        """Leave out, or refuse, rows whose id an earlier row has."""
        ids = self._table.column("id")
        if pc.count_distinct(ids).as_py() == len(ids):
            return
        first: dict[str, int] = {}
        for row, value in enumerate(ids.to_pylist()):
            if first.setdefault(value, row) != row:
                self._leave_row_out(row, f"row {first[value]} has the same id; ids must differ")

    def _refuse_rows(
        self, bad: pa.Array, reason: str | Callable[[int], str], row_of_element: pa.Array | None = None
    ) -> None:
        """Leave out the rows marked in `bad`; `row_of_element` maps its elements to rows."""
        for index in np.flatnonzero(pc.fill_null(bad, False)).tolist():
            row = index if row_of_element is None else row_of_element[index].as_py()
            self._leave_row_out(row, reason if isinstance(reason, str) else reason(row))

    def _leave_row_out(self, row: int, reason: str) -> None:
        """Leave a row out, or raise `SquadFormatError` if bad rows are errors."""
        if not self._is_bad[row]:
            error = SquadFormatError(f"{self._describe_row(row)}: {reason}")
            skip_or_raise(f"{self._where}, row {self._numbers[row]}", error)
        self._is_bad[row] = True

    def _describe_row(self, row: int) -> str:
        """Return where a row stands, with its id, for messages."""
        return f"{self._where}, row {self._numbers[row]} (id {self._table.column('id')[row].as_py()!r})"


def _is_blank(texts: pa.Array) -> pa.Array:
    """Return for each text whether it is empty or has white space only."""
    return pc.equal(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0)


def _find_nearest_occurrence(context: str, text: str, start: int) -> int | None:
    """Return the offset of the occurrence of `text` that is closest to `start`; of two equally close, the first."""
    best: int | None = None
    offset = context.find(text)
    while offset >= 0:
        if best is None or abs(offset - start) < abs(best - start):
            best = offset
        offset = context.find(text, offset + 1)
    return best


def _describe_wrong_offset(context: str, text: str, start: int, nearest: int | None) -> str:
    """Return the message for an answer that does not stand at `start` in its context; `nearest` is where it does."""
    if start < 0:
        problem = f"answer_start is {start}; expected 0 or more"
    else:
        problem = (
            f"the context has {context[start : start + len(text)]!r} at answer_start {start}, not the answer {text!r}"
        )
    if nearest is None:
        return f"{problem}; the context does not contain the answer {text!r} at all"
    return f"{problem}; it is at {nearest}; correct answer_start (or set `fix_answer_start` to True)"


def _list_json_files(path: Path) -> list[Path]:
    """Return the SQuAD JSON files that `path` stands for; none if it is something that `datasets` should load."""
    if path.is_file():
        if get_unpacked_suffix(path) != ".json":
            raise ValueError(f"{path} is not a .json file; name a SQuAD JSON file, a folder, or a Hub id")
        return [path]
    _refuse_saved_to_disk(path)
    if not path.is_dir() or (path / "README.md").exists() or any(path.glob("*.parquet")):
        return []
    files = (file for file in path.iterdir() if get_unpacked_suffix(file) == ".json" and file.is_file())
    return sorted(file for file in files if not file.name.startswith("dataset_info"))


def _refuse_saved_to_disk(path: Path) -> None:
    """Raise an error for a folder that `Dataset.save_to_disk` wrote; its JSON files hold no questions."""
    if (path / "dataset_dict.json").is_file():
        kind, steps = "DatasetDict", "write each split with `split.to_parquet('<new folder>/<split name>.parquet')`"
    elif (path / "state.json").is_file() and (path / "dataset_info.json").is_file():
        kind, steps = "Dataset", "write it with `.to_parquet('<new folder>/train.parquet')` (or another split's name)"
    else:
        return
    raise DatasetFileError(
        f"{path} was written by `{kind}.save_to_disk`; expected SQuAD JSON files or a folder as on the Hub. "
        f"Load it with `datasets.load_from_disk`, {steps}, and name the new folder"
    )


def infer_split_name(file: Path) -> str:
    """Return the split that the name of a file tells; "test" if it tells none."""
    stem = file.stem.lower()
    for word, split in (("train", "train"), ("validation", "validation"), ("dev", "validation")):
        if word in stem:
            return split
    return "test"


def _read_squad_file(file: Path) -> tuple[datasets.Dataset, SquadVersion | None]:
    """Return the questions of an official SQuAD file and the version that the file names."""
    rows, version = read_squad_json(file)
    columns = {column: [row[column] for row in rows] for column in COLUMNS}
    return datasets.Dataset.from_dict(columns, features=build_squad_features()), version
