"""The base of DataModules that read and check a dataset once, and know its splits by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import lightning

from ctxzoo.data.bucketing import ResumableLoader
from ctxzoo.data.own_splits import LEAST_ROWS, RowGroups, split_rows_with_notes
from ctxzoo.data.stream_pass import StreamReader, open_training_stream
from ctxzoo.data.training_stream import SHUFFLE_BUFFER, TrainingStream


class CheckedSplits(Protocol):
    """What a problem's reader gives, a dataclass: checked splits, and the content hash of each."""

    @property
    def splits(self) -> Mapping[str, Any]:
        """Return the rows of each split by its name; they have a method `select`."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Return the content hash of each split by its name."""


Checked = TypeVar("Checked", bound=CheckedSplits)
Part = TypeVar("Part")


class CheckedDataModule(lightning.LightningDataModule, ABC, Generic[Checked]):
    """A DataModule of one dataset; a subclass says how it is read.

    Args:
        dataset: Dataset: a Hub id, folder or file, or "sample" for a generated one.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`;
            how many rows each gets is reported, and so is data too small to be split.
        streaming: Whether training rows stay on the disk, for data larger than memory: all rows are read once and
            written in blocks, see `TrainingStream`; what a DataModule gives of "train" is a sample of them, and only
            `train_dataloader` reads them all.
        shuffle_buffer: Number of rows that are read, and shuffled, together where training rows are streamed.

    Raises:
        ValueError: a shuffle_buffer below 1.
    """

    def __init__(
        self,
        dataset: str,
        data_dir: str | None,
        *,
        divide: bool,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        super().__init__()
        if shuffle_buffer < 1:
            raise ValueError(f"shuffle_buffer is {shuffle_buffer}; expected 1 or more rows")
        self.divide = divide
        self.dataset = dataset
        self.data_dir = data_dir
        self.streaming, self.shuffle_buffer = streaming, shuffle_buffer
        self._stream: TrainingStream | None = None
        self._checked: Checked | None = None

    @property
    def training_stream(self) -> TrainingStream:
        """The training rows on the disk, where they are streamed; after `prepare_data` or `setup`."""
        assert self._stream is not None, "call setup() first, of data with streaming=True"
        return self._stream

    def build_stream_reader(self) -> StreamReader:
        """Return how rows are read where they are streamed.

        Raises:
            ValueError: the data cannot be streamed, or not with these settings.
        """
        raise ValueError(f"streaming=True: a {type(self).__name__} reads all rows at once; leave it out")

    def check_whole_splits(self, splits: dict[str, Any]) -> Checked:
        """Check what `TrainingStream.load_whole_splits` gives; a subclass that streams says how."""
        raise NotImplementedError

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""

    @abstractmethod
    def read_dataset(self) -> Checked:
        """Read the dataset from its files and return it, checked; subclasses say how."""

    @abstractmethod
    def group_related_rows(self, checked: Checked) -> RowGroups:
        """Return the groups of rows, such as equal texts, that must stay together when training data is divided."""

    def load_checked_data(self) -> Checked:
        """Return the checked dataset, read on the first call, and divided into splits where `divide` asks for it."""
        if self._checked is None and self.streaming:
            reader = self.build_stream_reader()
            self._stream = open_training_stream(reader, self.dataset, self.data_dir, divide=self.divide)
            self._checked = self.check_whole_splits(self._stream.load_whole_splits())
        if self._checked is None:
            checked: Any = self.read_dataset()
            if self.divide and list(checked.splits) == ["train"]:
                parts = split_rows_with_notes(self.group_related_rows(checked), self.dataset)
                train = checked.splits["train"]
                checked = replace(checked, splits={split: train.select(rows) for split, rows in parts.items()})
            self._checked = checked
        return self._checked

    @abstractmethod
    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split in evaluation order.

        Raises:
            ValueError: there is no such split.
        """

    def val_dataloader(self) -> ResumableLoader | list[ResumableLoader]:
        return self.split_dataloader("validation") if "validation" in self.splits else []

    def test_dataloader(self) -> ResumableLoader:
        """Return the loader of the test split, or raise ValueError if there is none."""
        if "test" not in self.splits and "train" in self.splits:
            raise ValueError(
                f"dataset {self.dataset!r} gives no 'test' rows; it gives {sorted(self.splits)}; give a folder of "
                f"files for train, validation and test, or {LEAST_ROWS} or more training rows alone and divide=True"
            )
        return self.split_dataloader("test")

    def predict_dataloader(self) -> ResumableLoader:
        """Return the loader of `Trainer.predict`: that of the test split."""
        return self.test_dataloader()

    @property
    def fingerprint(self) -> str:
        """The content hashes of the dataset's own splits, as text; those that were drawn from one have none."""
        return ", ".join(f"{name} {value[:16]}" for name, value in sorted(self.content_hashes().items()))

    def content_hashes(self) -> dict[str, str]:
        """Return the content hash of everything that is read, by name, for results files."""
        hashes = dict(self.load_checked_data().fingerprint)
        return {**hashes, "train": self.training_stream.facts.fingerprint} if self.streaming else hashes

    def prepare_data(self) -> None:
        """Read and check the dataset, once on each machine."""
        self.load_checked_data()

    def get_split(self, parts: Mapping[str, Part], split: str) -> Part:
        """Return the part of one split, or raise ValueError if the dataset has no such split.

        Args:
            parts: Splits by name.
            split: Name of the split to return.

        Raises:
            ValueError: there is no such split.
        """
        if split not in parts:
            raise ValueError(
                f"dataset {self.dataset!r} gives no {split!r} rows; it gives {sorted(parts)} (or set `split`)"
            )
        return parts[split]
