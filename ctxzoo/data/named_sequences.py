"""Sequences of things that have names, such as the items of a session: checked, numbered, cut and read in batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import datasets
import numpy as np
import numpy.typing as npt

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.files import content_hash
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.own_splits import RowGroups, group_numbers
from ctxzoo.data.reading_notes import note
from ctxzoo.data.sources import dataset_fingerprint

MAX_LENGTH = 100
Piece = TypeVar("Piece", bound=Sized)


@dataclass(frozen=True)
class SequenceSplits:
    """Checked splits.

    Attributes:
        splits: by name; the columns are those that the problem's reader gives.
        fingerprint: content hash per split, the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    fingerprint: dict[str, str]


def checked_splits(
    splits: Mapping[str, datasets.Dataset], check: Callable[[str, datasets.Dataset], datasets.Dataset], origin: str
) -> SequenceSplits:
    """Return splits as `check` gives them, with their fingerprints.

    Args:
        splits: name to dataset.
        check: of what error messages call the split, and the split.
        origin: what error messages call the data.
    """
    checked = {name: check(f"{origin}, split {name!r}", split) for name, split in splits.items()}
    return SequenceSplits(checked, {name: dataset_fingerprint(split) for name, split in checked.items()})


def sequence_groups(checked: SequenceSplits, column: str, unit: str) -> RowGroups:
    """Say that equal sequences stay on one side when they are divided.

    Args:
        checked: the sequences.
        column: the names in a sequence.
        unit: what sequences are called, in the plural.
    """
    keys = {name: [content_hash(names) for names in split[column]] for name, split in checked.splits.items()}
    return RowGroups(groups=group_numbers(keys), unit=unit, together=f"equal {unit}")


def row_names(split: datasets.Dataset, columns: Iterable[str]) -> list[str]:
    """Return what the rows are called: the values of the first of `columns` that is there, or their numbers."""
    column = next((name for name in columns if name in split.column_names), None)
    return [str(value) for value in (range(len(split)) if column is None else split[column])]


class NamedSequencesDataModule(BucketedDataModule[SequenceSplits], Generic[Piece]):
    """Sequences of named things in bucketed batches: each thing but the first is to be predicted from those before it.

    The names are those of the training split, or those that are given. Things that are none of them are left out; by
    split, `left_out` counts them, `targets` all things that are to be predicted, and `unknown_targets` those of them
    that are unknown, or before which nothing is known. A sequence of more than `max_length` + 1 things is cut into
    pieces, each of which begins with the last thing of the one before: so every thing but the first is predicted once.
    Sequences of one thing predict nothing and are in no batch.

    A subclass says how sequences and things are called (`one`, `several`, `things`), and the columns that `read` gives
    of them: first the names, then numbers for each thing.

    Args:
        dataset: "sample", Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        columns: of a file of events.
        max_length: things that a prediction sees at most.
        names: in the order of their ids, which begin with 1; default: those of the training split, sorted.
        batch_size, eval_batch_size: sequences in a batch.
        seed: of the order of batches.
        num_workers: processes that build batches; 0 builds them in the training process.
        divide: Whether training rows alone are divided, see `CheckedDataModule`.

    Raises:
        ValueError: max_length below 1.
    """

    tokenizer = None  # names are no text
    one: ClassVar[str]
    several: ClassVar[str]
    things: ClassVar[str]
    read_columns: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        dataset: str,
        data_dir: str | None,
        columns: EventColumns,
        *,
        max_length: int,
        names: Sequence[str] | None,
        batch_size: int,
        eval_batch_size: int,
        seed: int,
        num_workers: int,
        divide: bool,
    ) -> None:
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; expected 1 or more {self.things} that a prediction sees")
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
        )
        self.columns = columns
        self.max_length = max_length
        self.left_out: dict[str, int] = {}
        self.targets: dict[str, int] = {}
        self.unknown_targets: dict[str, int] = {}
        self.names: list[str] = [] if names is None else [str(name) for name in names]
        self._sequences: dict[str, list[Piece]] = {}

    def row_groups(self, checked: SequenceSplits) -> RowGroups:
        return sequence_groups(checked, self.read_columns[0], self.several)

    @abstractmethod
    def piece(self, ids: npt.NDArray[np.int64], *further: npt.NDArray[np.float64]) -> Piece:
        """Return a piece of a sequence from the ids of its things (T,), and the further columns of these."""

    @abstractmethod
    def batches_of(self, pieces: list[Piece]) -> Any:
        """Return pieces as a dataset of batches, see `BucketedDataModule.batches`."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._sequences)

    def sequences(self, split: str) -> list[Piece]:
        """Return the pieces of a split that have something to predict.

        Raises:
            ValueError: there is no such split.
        """
        return self.part(self._sequences, split)

    def setup(self, stage: str | None = None) -> None:
        """Number the things, and cut the sequences, on every process."""
        if self._sequences:
            return
        splits = self.loaded().splits
        if not self.names:
            if "train" not in splits:
                raise TextFormatError(
                    f"dataset {self.dataset!r} has the splits {sorted(splits)}, none that says which {self.things} "
                    "there are; expected one named 'train', or give their names"
                )
            self.names = sorted({name for names in splits["train"][self.read_columns[0]] for name in names})
        numbers = {name: number for number, name in enumerate(self.names, start=1)}
        for split, rows in splits.items():
            self.left_out[split], self._sequences[split] = 0, []
            for names, *further in zip(*(rows[column] for column in self.read_columns), strict=True):
                ids = np.array([numbers.get(name, 0) for name in names], np.int64)
                known = ids > 0
                self.left_out[split] += int((~known).sum())
                ids, parts = ids[known], [np.array(values, np.float64)[known] for values in further]
                self._sequences[split] += [
                    self.piece(ids[cut], *(part[cut] for part in parts)) for cut in self._cuts(ids)
                ]
            lengths = [len(names) for names in rows[self.read_columns[0]]]
            self.targets[split] = sum(length - 1 for length in lengths)
            self.unknown_targets[split] = self.targets[split] - sum(len(one) - 1 for one in self._sequences[split])
            where = f"split {split!r}"
            note(where, f"{self.things} that the model does not know, left out of what is read", self.left_out[split])
            note(where, f"rows with one of the {self.things} alone, in which nothing is predicted", lengths.count(1))

    def batches(self, split: str, *, training: bool) -> Any:
        pieces = self.sequences(split)
        if not pieces:
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: no {self.one} has two of the {len(self.names):,} known "
                f"{self.things}, so that nothing is to predict"
            )
        return self.batches_of(pieces)

    def _cuts(self, ids: npt.NDArray[np.int64]) -> list[slice]:
        return [slice(start, start + self.max_length + 1) for start in range(0, len(ids) - 1, self.max_length)]
