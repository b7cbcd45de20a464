"""Rows of a user's own, divided into train, validation and test, in a DataModule or as a dataset that is written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ctxzoo.data.files import build_cached_folder, hash_strings
from ctxzoo.data.formats import SPLITS, Rows, TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.sources import dataset_fingerprint

if TYPE_CHECKING:
    import datasets

SPLIT_SEED = 0  # validation and test are the same, whatever seed trains
HELD_OUT = 0.1  # of the rows, for each of validation and test
Loaded: TypeAlias = "tuple[dict[str, datasets.Dataset], dict[str, str]]"  # splits, and what messages call each
MOST_NAMED_ALONE = 3  # of labels that a split lacks; where there are more, one line tells of all
LEAST_ROWS = 10  # of data that is divided here


@dataclass(frozen=True, kw_only=True)
class RowGroups:
    """Which rows of a dataset stay on one side when it is divided.

    Attributes:
        groups: Name of a split to (rows,) group numbers; rows of one group are never put into different splits.
        unit: Plural noun for the rows, such as "sentences".
        together: What rows of one group have in common, such as "the same text", for the line that reports the splits.
        labels: (rows,) classes of the rows of "train", kept in proportion in every split that is drawn; or (rows, L) 0
            and 1 where a row may have several labels, whose rarest counts; None: no classes.
        label_names: Names of the classes.
        held_out: Fraction of the rows that each drawn split gets.
        in_order: Whether the rows are a running text: missing splits are then stretches at its end, nothing is drawn
            and groups do not count.
        how: How the splits were made, for the line that reports them; empty: they were there, or are drawn here.
    """

    groups: Mapping[str, npt.NDArray[np.int64]]
    unit: str
    together: str
    labels: npt.NDArray[np.int64] | None = None
    label_names: Sequence[str] = ()
    held_out: float = HELD_OUT
    in_order: bool = False
    how: str = ""


@dataclass(frozen=True, kw_only=True)
class OwnRows(RowGroups):
    """Checked rows, in columns that the DataModule of their problem reads.

    Attributes:
        splits: Name of a split to its rows; validation and test are drawn from "train" where they are missing.
    """

    splits: Mapping[str, datasets.Dataset]


@dataclass(frozen=True)
class OwnSplits:
    """A user's rows on the disk.

    Attributes:
        folder: Folder with one Parquet file for each of train, validation and test.
        lines: Sentences for the user: numbers of rows of the splits, how they were drawn, and anything odd.
        sizes: Name of a split to its number of rows.
        drawn: Names of the splits that were drawn from the training rows.
    """

    folder: Path
    lines: tuple[str, ...]
    sizes: Mapping[str, int]
    drawn: tuple[str, ...]


def load_splits_of_files(data: str, files: Mapping[str, str], load: Callable[[str], Loaded]) -> Loaded:
    """Return the splits of the user's data, some of them from files of their own, and their names for messages.

    Args:
        data: Training data: a file, a folder or a Hub id.
        files: Name of a split, "validation" or "test", to the file that holds it.
        load: Function from a source to its splits and to the name of each in messages.

    Raises:
        TextFormatError: a file for one split has several, none of this name.
        OSError, ValueError: see `load`.
    """
    splits, origin = load(data)
    for name, source in files.items():
        source_splits, locations = load(source)
        only = next(iter(source_splits)) if len(source_splits) == 1 else name
        if only not in source_splits:
            raise TextFormatError(
                f"--{name} {source} has the splits {sorted(source_splits)}; expected one, or {name!r}"
            )
        splits[name], origin[name] = source_splits[only], locations[only]
    return splits, origin


def write_own_splits(rows: OwnRows, name: str, parent: Path) -> OwnSplits:
    """Divide rows into train, validation and test, and write them below `parent`; the same rows are written once.

    Args:
        rows: Rows of the user's data, with their groups and classes.
        name: Name of the data in messages, as the user typed it.
        parent: Folder in which the folder of the splits is created.

    Raises:
        TextFormatError: no rows to train on; too few to divide.
        OSError: the folder cannot be written.
    """
    if "train" not in rows.splits:
        raise TextFormatError(
            f"{name} has the splits {sorted(rows.splits)}, none to train on; name data with a train split"
        )
    drawn_names = [split for split in SPLITS if split not in rows.splits]
    parts = {split: np.arange(len(rows.splits[split])) for split in rows.splits}
    if drawn_names:
        parts |= _split_rows(rows, drawn_names, name)
    divided = {split: rows.splits[split if split in rows.splits else "train"].select(parts[split]) for split in SPLITS}
    key = hash_strings(f"{split} {dataset_fingerprint(split_rows)}" for split, split_rows in divided.items())
    names = hash_strings(str(divided["train"].features.to_dict()))

    def write(temporary: Path) -> None:
        """Write each split into the folder as a Parquet file."""
        for split, split_rows in divided.items():
            split_rows.to_parquet(temporary / f"{split}.parquet")

    folder = build_cached_folder(parent / f"data-{key[:8]}{names[:4]}", write)
    sizes = {split: len(split_rows) for split, split_rows in divided.items()}
    made = SPLITS[1:] if rows.how else tuple(drawn_names)
    return OwnSplits(folder, tuple(_format_split_report(rows, name, parts, drawn_names)), sizes, made)


def split_rows_with_notes(rows: RowGroups, name: str) -> dict[str, Rows]:
    """Divide training rows into splits as `write_own_splits` does, and record in the reading notes how.

    Args:
        rows: Rows of the user's data, with their groups and classes.
        name: Name of the data in messages, as the user typed it.

    Returns:
        Name of a split to its rows, ascending: of train, validation and test, or, where rows or groups are too few for
        three, which is noted, of "train" alone.
    """
    drawn_names, number = SPLITS[1:], len(rows.groups["train"])
    try:
        parts = _split_rows(rows, drawn_names, name)
    except TextFormatError:
        needed = f"{LEAST_ROWS} or more are needed, and {rows.together} stay on one side"
        record_note(
            name, f"{rows.unit}, all of them in train, too few to draw validation and test from: {needed}", number
        )
        return {"train": np.arange(number)}
    record_note(name, _describe_split_sizes(rows, parts, drawn_names), number)
    for labels, count, effect in _find_labels_missing_in_splits(rows, {split: parts[split] for split in drawn_names}):
        record_note(f"{name}, {labels}", f"{rows.unit}, {effect}", count)
    return parts


def _split_rows(rows: RowGroups, drawn_names: Sequence[str], name: str) -> dict[str, Rows]:
    """Divide training rows: return the row numbers of train and of each split in `drawn_names`.

    `name` is that of the dataset, for messages. Rows of one group stay together, and rows in an order are cut, not
    drawn.
    """
    number = len(rows.groups["train"])
    if number < LEAST_ROWS:
        raise TextFormatError(
            f"{name} has {format_count(number, rows.unit)}; expected {LEAST_ROWS} or more, to train, validate and test "
            "on: add some, or give validation and test files of their own"
        )
    if rows.in_order:
        return _split_contiguously(number, drawn_names, rows.held_out)
    labels = rows.labels
    if labels is not None and labels.ndim == 2:
        labels = choose_rarest_labels(labels)
    parts = draw_stratified_group_split(
        rows.groups["train"], labels, dict.fromkeys(drawn_names, rows.held_out), SPLIT_SEED
    )
    for split in ("train", *drawn_names):
        if not len(parts[split]):
            raise TextFormatError(
                f"{name}: of {format_count(number, rows.unit)} none is left for {split}, since {rows.together} stay on "
                "one side; add others, or give validation and test files of their own"
            )
    return parts


def _split_contiguously(number: int, names: Sequence[str], fraction: float) -> dict[str, Rows]:
    """Return row numbers by split: a stretch of this fraction each at the end, and the rest under "train"."""
    length = max(1, round(fraction * number))
    begins = number - length * np.arange(len(names), 0, -1)
    return dict(zip(("train", *names), np.split(np.arange(number), begins), strict=True))


def draw_stratified_group_split(
    groups: npt.NDArray[np.int64], labels: npt.NDArray[np.int64] | None, parts: Mapping[str, float], seed: int
) -> dict[str, Rows]:
    """Draw rows for parts such as validation and test, whole groups, with the labels in proportion.

    A group counts as of the class of its first row. Each part gets about its fraction of the rows of every class, one
    group at least; a class with too few groups for all parts and the rest is in the rest alone.

    Args:
        groups: (rows,) group numbers; rows of one group stay in one part.
        labels: (rows,) classes, kept in proportion in every part; None: no classes.
        parts: Name of each part to its fraction of the rows; the fractions sum to less than 1.
        seed: Seed of the random draw.

    Returns:
        Name to rows, ascending; the rest under "train".
    """
    _, first, group_of, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    classes = np.zeros(len(first), np.int64) if labels is None else labels[first]
    part_of = np.zeros(len(first), np.int64)  # 0: the rest
    generator = np.random.default_rng(seed)
    for value in np.unique(classes):
        members = generator.permutation(np.flatnonzero(classes == value))
        if len(members) <= len(parts):
            continue
        ends = np.cumsum(sizes[members])
        begin = 0
        for number, fraction in enumerate(parts.values(), start=1):
            before = ends[begin - 1] if begin else 0
            nearest = int(np.abs(ends[begin:] - before - fraction * ends[-1]).argmin()) + 1
            count = min(nearest, len(members) - begin - (len(parts) - number) - 1)
            part_of[members[begin : begin + count]] = number
            begin += count
    of_row = part_of[group_of.reshape(-1)]
    return {name: np.flatnonzero(of_row == number) for number, name in enumerate(("train", *parts))}


def count_label_rows(labels: npt.NDArray[Any], num_labels: int) -> npt.NDArray[np.int64]:
    """Count the rows of each label, (L,), from classes (rows,), or from 0 and 1 (rows, L)."""
    several = labels.ndim == 2
    counts: npt.NDArray[np.int64] = labels.sum(axis=0) if several else np.bincount(labels, minlength=num_labels)
    return counts.astype(np.int64)


def choose_rarest_labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the rarest label of each row, (rows,), of 0 and 1 (rows, L); L for a row without any."""
    by_number = np.argsort(labels.sum(axis=0), kind="stable")
    ordered = np.concatenate([labels[:, by_number], np.ones((len(labels), 1), labels.dtype)], axis=1)
    rarest: npt.NDArray[np.int64] = np.append(by_number, labels.shape[1])[ordered.argmax(axis=1)]
    return rarest


def number_groups_by_key(keys: Mapping[str, Iterable[Hashable]]) -> dict[str, npt.NDArray[np.int64]]:
    """Return a group number for each row of each split: rows with equal keys get the same number, across splits."""
    seen: dict[Hashable, int] = {}
    return {
        split: np.fromiter((seen.setdefault(key, len(seen)) for key in of_split), np.int64)
        for split, of_split in keys.items()
    }


def merge_groupings(
    grouping: Mapping[str, npt.NDArray[np.int64]], other_grouping: Mapping[str, npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.int64]]:
    """Return group numbers that join two groupings: rows that share a group in either, also through others, are one."""
    first, second = (np.concatenate(list(groups.values())) for groups in (grouping, other_grouping))
    offset = first.max() + 1
    size = offset + second.max() + 1
    links = coo_array((np.ones(len(first)), (first, offset + second)), shape=(size, size))
    component = connected_components(links, directed=False)[1]
    return {split: component[groups].astype(np.int64) for split, groups in grouping.items()}


def hash_normalized_text(text: str) -> int:
    """Return a number for a text that ignores white space and case, to find repeated texts."""
    plain = " ".join(text.split()).casefold().encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(plain, digest_size=8).digest(), "little")


def _describe_split_sizes(rows: RowGroups, parts: Mapping[str, Rows], drawn_names: Sequence[str]) -> str:
    """Return the words behind the number of all rows: the size of each split, and how drawn ones were drawn."""
    sizes = ", ".join(f"{len(parts[split]):,} {split}" for split in SPLITS)
    if rows.how or not drawn_names:
        return f"{rows.unit}: {sizes}" + (f" ({rows.how})" if rows.how else "")
    if rows.in_order:
        return f"{rows.unit}: {sizes} ({' and '.join(drawn_names)} cut from the end of the text, in its order)"
    several = rows.labels is not None and rows.labels.ndim == 2
    classes = (
        "" if rows.labels is None else f"{'the rarest label of each row' if several else 'every label'} in proportion, "
    )
    how = f"{' and '.join(drawn_names)} drawn from train with seed {SPLIT_SEED}, {classes}{rows.together} on one side"
    return f"{rows.unit}: {sizes} ({how})"


def _format_split_report(
    rows: OwnRows, name: str, parts: Mapping[str, Rows], drawn_names: Sequence[str]
) -> Iterable[str]:
    """Yield lines for the user: the sizes of the splits, shared groups, and labels missing from a split.

    `parts` are the row numbers of each split, of which `drawn_names` were divided from train; `name` is that of the
    dataset.
    """
    yield f"{name}: {format_count(sum(map(len, parts.values())), _describe_split_sizes(rows, parts, drawn_names))}"
    for split in ("validation", "test"):
        if split in rows.splits and (both := int(np.isin(rows.groups[split], rows.groups["train"]).sum())):
            all_rows = format_count(len(parts[split]), rows.unit)
            yield f"note: {both:,} of the {all_rows} of {split} share {rows.together} with train"
    for labels, count, effect in _find_labels_missing_in_splits(rows, {split: parts[split] for split in drawn_names}):
        yield f"note: {labels} with {format_count(count, rows.unit)}, {effect}"


def _find_labels_missing_in_splits(rows: RowGroups, drawn_splits: Mapping[str, Rows]) -> Iterable[tuple[str, int, str]]:
    """Yield the labels that a drawn split lacks: their names, number of rows, and what follows; many in one line."""
    if rows.labels is None:
        return
    counts = count_label_rows(rows.labels, len(rows.label_names))
    drawn_counts = {
        split: count_label_rows(rows.labels[members], len(rows.label_names)) for split, members in drawn_splits.items()
    }
    labels_without: dict[tuple[str, ...], list[int]] = {}
    for number in np.flatnonzero(counts).tolist():
        without = tuple(split for split, of_split in drawn_counts.items() if not of_split[number])
        labels_without.setdefault(without, []).append(number)
    labels_without.pop((), None)
    for without, numbers in labels_without.items():
        together = [numbers] if len(numbers) > MOST_NAMED_ALONE else [[number] for number in numbers]
        for some in together:
            names = ", ".join(repr(rows.label_names[number]) for number in some[:MOST_NAMED_ALONE])
            one = len(some) == 1
            it, it_is = ("it", "it is") if one else ("them", "they are")
            if len(without) > 1:
                effect = f"all in train: {it_is} neither validated nor tested"
            else:
                effect = f"none in {without[0]}: {it_is} not {'tested' if without[0] == 'test' else 'validated'}"
            yield (
                f"label {names}" if one else f"{len(some):,} labels ({names} …)",
                int(counts[some].sum()),
                f"{effect}; add some, or correct {it} where {it_is} {'a slip' if one else 'slips'}",
            )
