"""Sequences for Lightning: from a dataset, a file of events or the generated sample to batches of whole sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.formats import Rows, TextFormatError
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.training_stream import SHUFFLE_BUFFER
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.sequences.kinds import FIRST_TARGET, HISTORIES, SESSIONS, EventColumns, SequenceKind
from ctxzoo.tasks.sequences.reader import (
    SequenceSplits,
    check_sequences,
    group_equal_sequences,
    read_sequences,
)
from ctxzoo.tasks.sequences.stream import SequenceStreamReader, list_pieces

MAX_LENGTH = 100

# Name to what `read_sequences` reads; those of HCRNN's authors are split as theirs are, where all of it is there.
SESSION_DATASETS = {
    "citeulike": "ctxzoo-data/citeulike_hcrnn",
    "movielens_1m": "ctxzoo-data/movielens_1m_hcrnn",
    "lastfm": "ctxzoo-data/lastfm_hcrnn",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}
HISTORY_DATASETS = {
    "badges": "ctxzoo-data/stackoverflow_badges",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}

Session = npt.NDArray[np.int64]  # (T,) items from 1, in order


@dataclass(frozen=True)
class History:
    """The known events of a history, or of a piece of one.

    Attributes:
        events: (T,) int64 ids of T events, from 1, in temporal order.
        times: (T,) float64 times of T events, non-decreasing.
    """

    events: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.events)


Piece = TypeVar("Piece", Session, History)


def collate_sessions(sessions: Sequence[Session]) -> dict[str, torch.Tensor]:
    """Return sessions as a padded batch: items as inputs, and for each the item after it as label.

    Args:
        sessions: List of B sessions, each an array of the ids of its items in order, two or more.

    Returns:
        `input_ids` (B, T), all items of a session but its last, 0 at padding; `attention_mask` (B, T), 1 at items;
        `labels` (B, T), all items but the first, -100 at padding. All int64; T is one less than the longest session.
    """
    whole = _pad_rows(sessions, torch.int64)
    labels = whole[:, 1:].masked_fill(whole[:, 1:] == 0, IGNORED)
    ids = whole[:, :-1].masked_fill(labels == IGNORED, 0)
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def collate_histories(histories: Sequence[History]) -> dict[str, torch.Tensor]:
    """Return histories as a padded batch: events and times as inputs, and events as labels.

    Args:
        histories: List of B histories, event ids with their times.

    Returns:
        `input_ids` (B, T) int64, 0 at padding; `timestamps` (B, T) float64; `attention_mask` (B, T), 1 at events;
        `labels` (B, T), the events themselves, of which a model predicts each from those before it, -100 at padding.
    """
    ids = _pad_rows([history.events for history in histories], torch.int64)
    times = _pad_rows([history.times for history in histories], torch.float64)
    labels = ids.masked_fill(ids == 0, IGNORED)
    return {"input_ids": ids, "timestamps": times, "attention_mask": (ids > 0).long(), "labels": labels}


def _pad_rows(rows: Sequence[npt.NDArray[Any]], dtype: torch.dtype) -> torch.Tensor:
    """Return the rows of numbers as one tensor (rows, longest), with zeros behind shorter ones."""
    padded = torch.zeros((len(rows), max(map(len, rows))), dtype=dtype)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = torch.from_numpy(row)
    return padded


def compute_median_gap(histories: Sequence[History]) -> float:
    """Return the median time between events, to scale times; if it is 0 that of gaps above 0, and 1 without any.

    0, as of people who do several things in one second, is no unit of time.
    """
    gaps = np.concatenate([np.diff(history.times) for history in histories])
    median = float(np.median(gaps)) if len(gaps) else 0.0
    above = gaps[gaps > 0]
    return median if median > 0 else float(np.median(above)) if len(above) else 1.0


class SequenceBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch; arguments are those of `SequencesDataModule`."""

    def __init__(
        self,
        pieces: Sequence[Any],
        inputs: Callable[[Sequence[Any]], dict[str, torch.Tensor]],
        unread: int,
        first_targets: Sequence[int],
    ) -> None:
        self.pieces, self.inputs, self.unread = pieces, inputs, unread
        self.first_targets = np.array(first_targets, np.int64)

    def __len__(self) -> int:
        return len(self.pieces)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return how many items or events of each sequence are read (n,), to put like lengths into a batch."""
        return np.array([len(piece) - self.unread for piece in self.pieces])

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the sequences of these numbers as a padded batch, with their numbers in `row` (B,)."""
        rows: Rows = np.asarray(numbers, np.int64)
        batch = self.inputs([self.pieces[row] for row in rows])
        first = torch.from_numpy(self.first_targets[rows]).unsqueeze(1)
        if bool((first > 1).any()):  # else all but the first are predicted, as labels have it
            places = torch.arange(batch["labels"].size(1)) + self.unread
            batch["labels"] = batch["labels"].masked_fill(places < first, IGNORED)
        return {**batch, "row": torch.from_numpy(rows)}


class SequencesDataModule(BucketedDataModule[SequenceSplits], Generic[Piece]):
    """Sequences of named things in bucketed batches: each thing but the first is to be predicted from those before it.

    The names are those of the training split, or those that are given. Things that are none of them are left out; by
    split, `left_out` counts them, `targets` all things that are to be predicted, and `unknown_targets` those of them
    that are unknown, or before which nothing is known; `counts` (N,) are how often each name stands in train. A
    sequence of more than `max_length` + 1 things is cut into pieces, each of which begins with the last thing of the
    one before: so every thing but the first is predicted once.
    Sequences of one thing predict nothing and are in no batch. Of data with a column `first_target` what stands before
    it is read, and not predicted.

    Args:
        dataset: Data to read: "sample" (generated sequences), or a Hub id, folder or file, as `read_sequences` takes
            it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        user_column, item_column, time_column: Names of the columns for user, item and time in a file of events, as in
            `EventColumns`.
        max_length: Largest number of previous items or events that a prediction reads.
        names: Names of all items or event types in the order of their ids, from 1; default: those of the training
            split, sorted.
        batch_size, eval_batch_size: Number of sequences in a batch, in training and in evaluation.
        seed: Seed of the random order of batches.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`.
        streaming, shuffle_buffer: Whether training sequences stay on the disk, and how many are read together, as in
            `CheckedDataModule`; they are lists in rows, and their names and `counts` are those of all of them.

    Raises:
        ValueError: max_length below 1.
    """

    tokenizer = None  # names are no text
    kind: ClassVar[SequenceKind]
    piece: ClassVar[Callable[..., Any]]  # makes one of the ids of its things (T,), and their times where there are any
    inputs: ClassVar[Callable[..., dict[str, torch.Tensor]]]  # makes a batch of pieces
    unread: ClassVar[int] = 0  # things of a piece that the model does not read

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        user_column: str = "user",
        item_column: str = "item",
        time_column: str = "time",
        max_length: int = MAX_LENGTH,
        names: Sequence[str] | None,
        batch_size: int,
        eval_batch_size: int,
        seed: int = 0,
        num_workers: int = 0,
        divide: bool = True,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        if max_length < 1:
            raise ValueError(
                f"max_length is {max_length}; expected 1 or more {self.kind.things} that a prediction sees"
            )
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
            streaming=streaming,
            shuffle_buffer=shuffle_buffer,
        )
        self.columns = EventColumns(user_column, item_column, time_column)
        self.max_length = max_length
        self.left_out: dict[str, int] = {}
        self.targets: dict[str, int] = {}
        self.unknown_targets: dict[str, int] = {}
        self.counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.names: list[str] = [] if names is None else [str(name) for name in names]
        self._sequences: dict[str, list[Piece]] = {}
        self._first_targets: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}

    def read_dataset(self) -> SequenceSplits:
        """Read and check the sessions or histories of each split."""
        return read_sequences(self.kind, self.dataset, self.data_dir, self.columns)

    def build_stream_reader(self) -> SequenceStreamReader:
        """Return how sequences are read where they are streamed."""
        return SequenceStreamReader(self.kind, self.max_length)

    def check_whole_splits(self, splits: dict[str, Any]) -> SequenceSplits:
        """Check the sample of train, and validation and test."""
        return check_sequences(self.kind, splits, origin=f"dataset {self.dataset!r}")

    def group_related_rows(self, checked: SequenceSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_equal_sequences(self.kind, checked)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._sequences)

    def sequences(self, split: str) -> list[Piece]:
        """Return the sequences of a split that have something to predict, long ones in pieces.

        Raises:
            ValueError: there is no such split.
        """
        return self.get_split(self._sequences, split)

    def get_ids(self, split: str) -> list[npt.NDArray[np.int64]]:
        """Return the item or event ids of each sequence of a split; errors are those of `sequences`."""
        return [piece.events if isinstance(piece, History) else piece for piece in self.sequences(split)]

    def get_first_targets(self, split: str) -> list[int]:
        """Return from which element on, counted from 0, each of `get_ids` is predicted; errors are those of
        `sequences`.
        """
        return self.get_split(self._first_targets, split)

    def setup(self, stage: str | None = None) -> None:
        """Give each item or event an id, and cut long sequences into pieces, on every process."""
        if self._sequences:
            return
        splits, things, column = self.load_checked_data().splits, self.kind.things, self.kind.columns[0]
        if not self.names and self.streaming:
            self.names = sorted(self.training_stream.facts.names)
        if not self.names:
            if "train" not in splits:
                raise TextFormatError(
                    f"dataset {self.dataset!r} has the splits {sorted(splits)}, none that says which {things} "
                    "there are; expected one named 'train', or give their names"
                )
            self.names = sorted({name for names in iterate_column(splits["train"][column]) for name in names})
        self._numbers = {name: number for number, name in enumerate(self.names, start=1)}
        for split, rows in splits.items():
            self.left_out[split], pieces, lengths = 0, [], []
            first_of_pieces: list[int] = []
            first_targets = rows[FIRST_TARGET][:] if FIRST_TARGET in rows.column_names else [1] * len(rows)
            counts = np.zeros(len(self.names) + 1, np.int64)
            columns = (iterate_column(rows[one]) for one in self.kind.columns)
            for first, names, *further in zip(first_targets, *columns, strict=True):
                ids = np.array([self._numbers.get(name, 0) for name in names], np.int64)
                self.left_out[split] += int((ids == 0).sum())
                np.add.at(counts, ids, 1)
                lengths.append(len(names))
                for piece, first_of_piece in self._cut_into_pieces(ids, first, further):
                    pieces.append(piece)
                    first_of_pieces.append(first_of_piece)
            if split == "train" and self.streaming:  # what is said of train is said of all its sequences
                of_all: dict[str, int] = self.training_stream.facts.names
                self.left_out[split] = sum(number for name, number in of_all.items() if name not in self._numbers)
                counts = np.array([0, *(of_all.get(name, 0) for name in self.names)], np.int64)
            self._sequences[split], self._first_targets[split] = pieces, first_of_pieces
            if split == "train":
                self.counts = counts[1:]
            self.targets[split] = sum(length - first for length, first in zip(lengths, first_targets, strict=True))
            predicted = sum(len(one) - first for one, first in zip(pieces, first_of_pieces, strict=True))
            self.unknown_targets[split] = self.targets[split] - predicted
            where = f"split {split!r}"
            record_note(where, f"{things} that the model does not know, left out of what is read", self.left_out[split])
            record_note(where, f"rows with one of the {things} alone, in which nothing is predicted", lengths.count(1))

    def build_stream_batches(self, rows: pa.Table) -> tuple[SequenceBatches, Rows]:
        """Return streamed sequences, already cut into pieces, as batches."""
        columns = [rows.column(name).to_pylist() for name in self.kind.columns]
        first_targets = rows.column(FIRST_TARGET).to_pylist()
        found, kept = [], []
        for row, (first, names, *further) in enumerate(zip(first_targets, *columns, strict=True)):
            ids = np.array([self._numbers.get(name, 0) for name in names], np.int64)
            pieces = self._cut_into_pieces(ids, first, further)
            found += pieces
            kept += [row] * len(pieces)
        batches = SequenceBatches(
            [piece for piece, _ in found], self.inputs, self.unread, [first for _, first in found]
        )
        return batches, np.array(kept, np.int64)

    def _cut_into_pieces(
        self, ids: npt.NDArray[np.int64], first: int, further: Sequence[Sequence[float]]
    ) -> list[tuple[Any, int]]:
        """Return the pieces of a sequence, of its known things alone, and from which element on each is predicted."""
        is_known: npt.NDArray[np.bool_] = ids > 0
        parts = (ids[is_known], *(np.array(values, np.float64)[is_known] for values in further))
        known_first = max(1, int(is_known[:first].sum()))
        return [
            (self.piece(*(part[start:end] for part in parts)), max(1, known_first - start))
            for start, end in list_pieces(len(parts[0]), known_first, self.max_length)
        ]

    def batches(self, split: str, *, training: bool) -> SequenceBatches:
        """Return the sequences of a split that have something to predict, to batch."""
        pieces = self.sequences(split)
        if not pieces:
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: no {self.kind.one} has two of the {len(self.names):,} "
                f"known {self.kind.things}, so that nothing is to predict"
            )
        return SequenceBatches(pieces, self.inputs, self.unread, self.get_first_targets(split))


class SessionDataModule(SequencesDataModule[Session]):
    """Sessions in bucketed batches, as in the data of HCRNN's authors; see `SequencesDataModule`.

    A batch is a dict of what `collate_sessions` gives and `row` (B,) int64, rows of `sequences(split)`.

    Args:
        dataset, further: Data to read, and further keyword arguments of `SequencesDataModule`, such as `max_length`.
        item_names: Names of all items in the order of their ids; default: those of the training split, sorted.
        batch_size, eval_batch_size: Number of sessions in a batch, in training and in evaluation.

    Raises:
        ValueError: max_length below 1.
    """

    kind, unread = SESSIONS, 1
    piece, inputs = staticmethod(np.asarray), staticmethod(collate_sessions)

    def __init__(
        self,
        dataset: str,
        *,
        item_names: Sequence[str] | None = None,
        batch_size: int = 16,
        eval_batch_size: int = 16,
        **further: Any,
    ) -> None:
        super().__init__(dataset, names=item_names, batch_size=batch_size, eval_batch_size=eval_batch_size, **further)

    def model_sizes(self) -> dict[str, int | list[str]]:
        """The fields of a model's config that follow from the data: items, names, counts, and how many are read."""
        return {
            "num_items": len(self.names),
            "item_names": self.names,
            "max_history": self.max_length,
            "item_counts": self.counts.tolist(),
        }


class HistoryDataModule(SequencesDataModule[History]):
    """Histories in bucketed batches; see `SequencesDataModule`.

    The unit of time is the median gap of the training split, see `compute_median_gap`, and is kept in the model's
    config.

    A batch is a dict of what `collate_histories` gives and `row` (B,) int64, rows of `sequences(split)`.

    Args:
        dataset, further: Data to read, and further keyword arguments of `SequencesDataModule`, such as `max_length`.
        event_names: Names of the event types in the order of their ids; default: those of the training split, sorted.
        batch_size, eval_batch_size: Number of histories in a batch, in training and in evaluation.

    Raises:
        ValueError: max_length below 1.
    """

    kind = HISTORIES
    piece, inputs = History, staticmethod(collate_histories)

    def __init__(
        self,
        dataset: str,
        *,
        event_names: Sequence[str] | None = None,
        batch_size: int = 32,
        eval_batch_size: int = 32,
        **further: Any,
    ) -> None:
        super().__init__(dataset, names=event_names, batch_size=batch_size, eval_batch_size=eval_batch_size, **further)

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from train: events, history length and scale of time."""
        histories = self.sequences("train")
        unit = compute_median_gap(histories)
        longest = max(float(history.times[-1] - history.times[0]) for history in histories)
        return {
            "vocab_size": len(self.names) + 1,
            "event_names": self.names,
            "max_history": self.max_length,
            "time_unit": unit,
            "time_span": max(longest / unit, 1.0),
        }
