"""Reads polyphonic music, from datasets, files of rows and MIDI files, and checks every step of every piece.

The sample is four voices over chords that follow each other as in many songs. Each piece has a tonic, a few chords of
its scale, each held for some steps, a bass on the chord's root and a melody that walks over the scale. What sounds next
follows from what sounds now, so that a model that reads the past does better than one that counts how often each key
sounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.files import hash_strings
from ctxzoo.data.formats import SAMPLE, SPLITS, DatasetFileError, TextFormatError
from ctxzoo.data.generated import RandomDraws, generate_splits
from ctxzoo.data.own_splits import RowGroups, number_groups_by_key
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.row_files import read_json_lines, read_parquet
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint, load_splits, resolve_dataset
from ctxzoo.tasks.polyphonic_music.midi import SUFFIXES, Grid, is_midi, read_midi
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, NOTES, PIECE

if TYPE_CHECKING:
    import datasets

ROW_FILES = (".jsonl", ".parquet")
NUM_STEPS = "num_steps"
_NESTED = pa.list_(pa.list_(pa.int64()))


@dataclass(frozen=True)
class MusicSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name: columns `piece_id` (str) and `notes`, for each time step the
            ascending list of sounding keys (0..87).
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    fingerprint: dict[str, str]


def read_music(
    dataset: str, data_dir: str | None = None, config_name: str | None = None, *, grid: Grid | None = None
) -> MusicSplits:
    """Read and check a dataset.

    Args:
        dataset: Data to read: "sample" (generated music); a .mid, .jsonl or .parquet file or a folder of MIDI files,
            which give the split "train"; a folder or Hub id with splits. Rows have `notes`: the keys that sound in each
            time step.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        config_name: Name of the dataset's configuration, such as "jsb_chorales"; default: the dataset's own default.
        grid: Time grid for MIDI files; default: `Grid()`, two steps in a beat.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a piece or column is not as it should be; the message names split, row (from 0) and value.
        ValueError: there is no such configuration.
        ImportError: MIDI files without mido, which the message names.
    """
    return check_music(load_music(dataset, data_dir, config_name, grid=grid), origin=f"dataset {dataset!r}")


def load_music(
    dataset: str, data_dir: str | None = None, config_name: str | None = None, *, grid: Grid | None = None
) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset as they are; arguments and errors as in `read_music`."""
    file_splits = _load_sample_or_files(dataset, Path(resolve_dataset(dataset, data_dir)), grid or Grid())
    if file_splits is not None:
        if config_name is not None:
            raise ValueError(f"config_name={config_name!r}, but {dataset!r} has no configurations; leave it out")
        return file_splits
    loaded = load_splits(dataset, data_dir, config_name, sample=True)
    splits = {name: loaded[name] for name in SPLITS if name in loaded}
    if not splits:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    return splits


def check_music(splits: Mapping[str, datasets.Dataset], *, origin: str = "the data") -> MusicSplits:
    """Check splits that are already loaded and return them with the columns of this problem.

    Args:
        splits: Loaded dataset of each split, by split name.
        origin: Description of the data for error messages, such as "dataset 'x'".

    Raises:
        TextFormatError: as in `read_music`.
    """
    checked = {name: _check_split(f"{origin}, split {name!r}", split) for name, split in splits.items()}
    return MusicSplits(checked, {name: dataset_fingerprint(split) for name, split in checked.items()})


def group_equal_pieces(checked: MusicSplits) -> RowGroups:
    """Group the rows that must stay in one split: equal pieces."""
    keys = {
        name: [hash_strings(map(str, piece)) for piece in iterate_column(split[NOTES])]
        for name, split in checked.splits.items()
    }
    return RowGroups(groups=number_groups_by_key(keys), unit="pieces", together="equal pieces")


def _load_sample_or_files(dataset: str, path: Path, grid: Grid) -> dict[str, datasets.Dataset] | None:
    """Return the splits of generated music, of a file, or of a folder of MIDI files; None of any other dataset."""
    if dataset == SAMPLE:
        return sample_music()
    if path.is_file():
        return {"train": _read_file(path, grid)}
    files = sorted(file for file in path.rglob("*") if is_midi(file)) if path.is_dir() else []
    return _read_folder(path, files, grid) if files else None


def _read_file(path: Path, grid: Grid) -> datasets.Dataset:
    """Read one MIDI, .jsonl or .parquet file as a dataset of pieces; `grid` says how long a step is."""
    import datasets

    if is_midi(path):
        return datasets.Dataset.from_dict({PIECE: [path.name], NOTES: [read_midi(path, grid)]})
    kind = path.suffix.lower()
    if kind not in ROW_FILES:
        raise DatasetFileError(
            f"{path} is no {', '.join((*SUFFIXES, *ROW_FILES))} file; name one, a folder, or a Hub id"
        )
    if kind == ".parquet":
        return datasets.Dataset(datasets.table.InMemoryTable(read_parquet(path)))
    rows = read_json_lines(path)
    try:
        return datasets.Dataset.from_list(rows)
    except (pa.ArrowException, TypeError) as error:
        raise DatasetFileError(f"{path}: {error}; expected in each line lists of keys in a list of steps") from error


def _read_folder(folder: Path, files: list[Path], grid: Grid) -> dict[str, datasets.Dataset]:
    """Read the pieces of a folder; sub-folders named after splits become these splits, else all are `train`."""
    of_split = {name: [file for file in files if file.relative_to(folder).parts[0] == name] for name in SPLITS}
    files_by_split = {name: split_files for name, split_files in of_split.items() if split_files} or {"train": files}
    others = sorted(set(files).difference(*files_by_split.values()))
    if others:
        raise DatasetFileError(
            f"{folder}: {others[0].relative_to(folder)} is in none of {', '.join(files_by_split)}; move it"
        )
    return {name: _read_midi_files(split_files, folder, grid) for name, split_files in files_by_split.items()}


def _read_midi_files(files: list[Path], folder: Path, grid: Grid) -> datasets.Dataset:
    """Read the MIDI files of a folder as a dataset of pieces, named by their paths in the folder; bad files are skipped
    or an error, as the reading options say.
    """
    import datasets

    pieces: dict[str, list[Any]] = {PIECE: [], NOTES: []}
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            notes = read_midi(file, grid)
        except DatasetFileError as error:
            skip_or_raise(name, error)
        else:
            pieces[PIECE].append(name)
            pieces[NOTES].append(notes)
    if not pieces[PIECE]:
        raise DatasetFileError(f"{folder}: all of its {len(files):,} MIDI files are bad; expected one that can be read")
    return datasets.Dataset.from_dict(pieces)


def _check_split(location: str, split: datasets.Dataset) -> datasets.Dataset:
    """Check the pieces of a split and return them with two columns, name and keys; `location` names the split in
    errors.
    """
    import datasets

    if len(split) == 0:
        raise TextFormatError(f"{location}: no rows; expected at least one piece")
    table: pa.Table = split.with_format("arrow")[:]
    if NOTES not in table.column_names:
        raise TextFormatError(f"{location}: no column {NOTES!r}; there are {table.column_names}")
    notes = _read_keys(location, cast_to_plain_type(table.column(NOTES)).combine_chunks())
    lengths = notes.value_lengths().to_numpy(zero_copy_only=False)
    _refuse_first_bad_row(location, lengths == 0, "the piece has no step; leave the row out")
    if NUM_STEPS in table.column_names:
        step_counts = table.column(NUM_STEPS).to_pylist()
        row = next(
            (row for row, (one, other) in enumerate(zip(step_counts, lengths, strict=True)) if one != other), None
        )
        if row is not None:
            raise TextFormatError(
                f"{location}, row {row}: {step_counts[row]} in {NUM_STEPS!r}, but {NOTES!r} has {lengths[row]} steps"
            )
    _check_keys(location, notes)
    names = table.column(PIECE).to_pylist() if PIECE in table.column_names else range(len(split))
    content = {PIECE: pa.array([str(name) for name in names], pa.string()), NOTES: notes}
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))


def _read_keys(location: str, notes: pa.Array) -> pa.ListArray:
    """Return the column of pieces, lists of lists of keys, with 64-bit keys; missing pieces or steps raise an error."""
    kind = notes.type
    inner = kind.value_type if pa.types.is_list(kind) else None
    value = inner.value_type if inner is not None and pa.types.is_list(inner) else None
    # Of nothing but silence pyarrow knows no type.
    whole = inner is not None and (pa.types.is_null(inner) or (value is not None and _is_integer_or_null(value)))
    if not whole:
        raise TextFormatError(
            f"{location}: column {NOTES!r} has the type {kind}; expected for each step a list of keys, 0..{KEYS - 1}"
        )
    _refuse_first_bad_row(
        location, notes.is_null().to_numpy(zero_copy_only=False), f"nothing in {NOTES!r}; leave the row out"
    )
    steps = notes.flatten()
    missing = pc.index(steps.is_null(), True).as_py()
    if missing >= 0:
        row, step = _locate_step(notes, missing)
        raise TextFormatError(f"{location}, row {row}, step {step}: nothing; expected a list of keys, empty where none")
    return notes.cast(_NESTED)


def _is_integer_or_null(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is an integer type or that of a column of nulls."""
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def _check_keys(location: str, notes: pa.ListArray) -> None:
    """Raise an error for keys that are missing, not on a piano, or not ascending within their step."""
    steps = notes.flatten()
    keys = steps.flatten()
    step_of = np.repeat(np.arange(len(steps)), steps.value_lengths().to_numpy(zero_copy_only=False))
    missing = keys.is_null().to_numpy(zero_copy_only=False)
    values = pc.fill_null(keys, -1).to_numpy(zero_copy_only=False)
    odd = _find_first_true((values < 0) | (values >= KEYS))
    if odd is not None:
        row, step = _locate_step(notes, int(step_of[odd]))
        shown = "nothing" if missing[odd] else f"key {values[odd]}"
        raise TextFormatError(f"{location}, row {row}, step {step}: {shown}; expected keys of 0..{KEYS - 1}")
    unsorted = _find_first_true((np.diff(values) <= 0) & (np.diff(step_of) == 0))
    if unsorted is not None:
        row, step = _locate_step(notes, int(step_of[unsorted]))
        before, key = values[unsorted], values[unsorted + 1]
        what = f"key {key} stands there twice" if before == key else f"key {key} stands behind {before}"
        raise TextFormatError(f"{location}, row {row}, step {step}: {what}; expected each key once, in ascending order")


def _locate_step(notes: pa.ListArray, step: int) -> tuple[int, int]:
    """Return the row of a step, whose number counts over all rows, and the step's number in the row."""
    ends = np.cumsum(notes.value_lengths().to_numpy(zero_copy_only=False))
    row = int(np.searchsorted(ends, step, side="right"))
    return row, step - (int(ends[row - 1]) if row else 0)


def _refuse_first_bad_row(location: str, bad: npt.NDArray[np.bool_], reason: str) -> None:
    """Raise `TextFormatError` for the first row that is marked in `bad` (rows,), with the reason."""
    row = _find_first_true(bad)
    if row is not None:
        raise TextFormatError(f"{location}, row {row}: {reason}")


def _find_first_true(bad: npt.NDArray[np.bool_]) -> int | None:
    """Return the place of the first True in a (n,) array; None if it has none."""
    return int(bad.argmax()) if bad.any() else None


SCALE = (0, 2, 4, 5, 7, 9, 11)  # of a major key, in semitones above its tonic
NEXT_CHORDS = {0: (3, 4, 5, 3), 3: (4, 0, 1, 4), 4: (0, 0, 0, 5), 5: (3, 1, 3, 4), 1: (4, 4, 4, 6), 6: (0, 0, 0, 0)}
TONICS = (27, 29, 31, 32)  # keys of a piano, 0 the lowest
BASS_OCTAVES, MELODY_OCTAVES = 0, 2
LEAST_STEPS, MORE_STEPS = 24, 25
HELD = (2, 4, 4)  # steps of a chord


def sample_music(seed: int = 0, train: int = 100, validation: int = 20, test: int = 20) -> dict[str, datasets.Dataset]:
    """Return generated pieces; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of pieces to generate for each split, 1 or more.

    Returns:
        Splits train, validation and test with the columns piece_id (str) and notes: for each of 24 to 48 steps the keys
        that sound, ascending.

    Raises:
        ValueError: negative seed, or a number of pieces below 1.
    """

    def draw_pieces(draws: RandomDraws, number: int, split: str) -> dict[str, list[Any]]:
        return {PIECE: [f"{split} {row}" for row in range(number)], NOTES: [_draw_piece(draws) for _ in range(number)]}

    return generate_splits("sample_music", "piece", seed, (train, validation, test), draw_pieces)


def _draw_piece(draws: RandomDraws) -> list[list[int]]:
    """Draw a piece of the sample, chords with a melody above: for each step the piano keys that sound."""
    tonic, degree, chord = draws.draw_item(TONICS), 0, 0
    steps: list[list[int]] = []
    length = LEAST_STEPS + int(draws.random() * MORE_STEPS)
    while len(steps) < length:
        for _ in range(draws.draw_item(HELD)):
            bass = _compute_piano_key(tonic, chord, BASS_OCTAVES)
            voices = [_compute_piano_key(tonic, chord + third, 1) for third in (0, 2, 4)]
            melody = _compute_piano_key(tonic, degree, MELODY_OCTAVES)
            silent = draws.random() < 0.02
            steps.append([] if silent else sorted({bass, *voices, melody}))
            degree = min(9, max(0, degree + draws.draw_item((-2, -1, 1, 2))))
        chord = draws.draw_item(NEXT_CHORDS[chord])
    return steps[:length]


def _compute_piano_key(tonic: int, degree: int, octaves: int) -> int:
    """Return the piano key of a degree of the scale above `tonic`; degrees from 7 on are an octave up."""
    return tonic + 12 * (octaves + degree // len(SCALE)) + SCALE[degree % len(SCALE)]
