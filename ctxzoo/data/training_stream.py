"""Training rows that stay on the disk: blocks of rows in a random order, read pool by pool, the same after a restart.

`ctxzoo.data.stream_pass` writes the folder. In every epoch the blocks are put into another order and cut into pools of
about `shuffle_buffer` rows; the rows of a pool are shuffled in memory and make batches of similar length. Both orders
follow from (seed, epoch) alone, and the number of batches from the sizes of the blocks. So a resumed run begins in the
middle of an epoch without reading what was before, where the shuffle buffer of an `IterableDataset` would be lost.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketing import ResumableLoader, ResumableSampler, build_resumable_loader, get_rank_and_world_size
from ctxzoo.data.formats import Rows
from ctxzoo.data.notices import format_count

if TYPE_CHECKING:
    import datasets

STREAM, FACTS, SAMPLED = "stream", "facts.json", "sample.parquet"  # folder of the blocks, and files in it
BLOCK = 1_000  # rows: a row group of a Parquet file
BLOCKS_OF_FILE = 1_000
SHUFFLE_BUFFER = 10_000


@dataclass(frozen=True)
class StreamFacts:
    """What the pass over all rows has found.

    Attributes:
        rows: Number of training rows in the blocks.
        block: Number of rows of a block; the last one may have fewer.
        sizes: Size of each block: its rows, or what else a problem counts, such as words.
        sampled: Number of training rows in the sample.
        longest: Greatest length of a training row, in what the problem counts; 0: it does not.
        names: Number of occurrences of each label, item or the like in the training rows, by name.
        fingerprint: Hash of the content of the training rows, as `dataset_fingerprint` gives it.
        notes: Number and description of everything that was left out, drawn or sampled, by name of the data.
    """

    rows: int
    block: int
    sizes: list[int]
    sampled: int
    longest: int
    names: dict[str, int]
    fingerprint: str
    notes: list[tuple[str, str, int]]


class TrainingStream:
    """A folder that `stream_pass` has written.

    Args:
        folder: Folder with the blocks in `stream`, and Parquet files of validation and test.

    Attributes:
        facts: What is known of all training rows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        content = json.loads((folder / STREAM / FACTS).read_text(encoding="utf-8"))
        self.facts = StreamFacts(**{**content, "notes": [tuple(note) for note in content["notes"]]})

    @staticmethod
    def is_one(folder: Path) -> bool:
        """Return whether there is such a folder of this name."""
        return (folder / STREAM / FACTS).is_file()

    def load_whole_splits(self) -> dict[str, datasets.Dataset]:
        """Return what is read into memory: the sample as "train", and validation and test as far as they are there."""
        import datasets

        files = {"train": self.folder / STREAM / SAMPLED}
        files |= {split: self.folder / f"{split}.parquet" for split in ("validation", "test")}
        return {
            split: datasets.Dataset(datasets.table.InMemoryTable(pq.read_table(file)))
            for split, file in files.items()
            if file.is_file()
        }

    def read_blocks(self, blocks: Sequence[int]) -> tuple[pa.Table, Rows]:
        """Return the rows of blocks, one block after another, and the number of each row in the stream."""
        tables: dict[int, pa.Table] = {}
        for number in sorted({block // BLOCKS_OF_FILE for block in blocks}):
            with pq.ParquetFile(self.folder / STREAM / name_file(number)) as file:
                for block in blocks:
                    if block // BLOCKS_OF_FILE == number:
                        tables[block] = file.read_row_group(block % BLOCKS_OF_FILE)
        starts = np.array([block * self.facts.block for block in blocks], np.int64)
        numbers = [start + np.arange(len(tables[block])) for start, block in zip(starts, blocks, strict=True)]
        return pa.concat_tables([tables[block] for block in blocks]), np.concatenate(numbers)


def name_file(number: int) -> str:
    """Return the name of the file of this number, from 0, that holds blocks."""
    return f"part-{number:05d}.parquet"


def write_facts(facts: StreamFacts, folder: Path) -> None:
    """Write the facts of a stream beside its blocks."""
    (folder / STREAM / FACTS).write_text(json.dumps(asdict(facts)), encoding="utf-8")


class BatchPlace(NamedTuple):
    """Where a batch of a stream comes from.

    Attributes:
        epoch, pool, number: Numbers of the epoch, of the pool in it and of the batch in this, from 0.
        rank, world_size: Rank of the process that reads it, and number of processes.
    """

    epoch: int
    pool: int
    number: int
    rank: int
    world_size: int


class StreamPools(ABC):
    """The pools of an epoch; every process has batches of its own of each of them, as many as the others."""

    unit: str  # of what a pool must have one or more for each process

    @abstractmethod
    def list_sizes(self, epoch: int) -> list[int]:
        """Return how many units each pool of an epoch has, such as rows."""

    @abstractmethod
    def count_batches(self, size: int, world_size: int) -> int:
        """Return how many batches each of `world_size` processes has of a pool of this size; 0: too few units."""

    @abstractmethod
    def read_pool(self, place: BatchPlace) -> Any:
        """Return the batches of a process, so that `batches[number]` is one."""


class RowPools(StreamPools):
    """Pools of rows that are shuffled, sorted by length and cut into batches, which are shuffled again.

    Args:
        stream: Stream to read.
        build_batches: Function from rows to those of them that are trained on, in a dataset of which `batches[numbers]`
            is a batch and `lengths()` the length of each, and to their numbers among all rows.
        batch_size: Largest number of rows in a batch.
        shuffle_buffer: Number of rows in a pool, of whole blocks, about.
        seed: Seed of all random orders.
    """

    unit = "rows"

    def __init__(
        self,
        stream: TrainingStream,
        build_batches: Callable[[pa.Table], tuple[Any, Rows]],
        *,
        batch_size: int,
        shuffle_buffer: int,
        seed: int,
    ) -> None:
        self.stream, self.build_batches = stream, build_batches
        self.batch_size, self.shuffle_buffer, self.seed = batch_size, shuffle_buffer, seed

    def list_pools(self, epoch: int) -> list[list[int]]:
        """Return the blocks of each pool of an epoch; pools have the same sizes in every epoch, in another order."""
        generator, number = np.random.default_rng([self.seed, epoch]), len(self.stream.facts.sizes)
        pools = min(number, max(1, round(self.stream.facts.rows / self.shuffle_buffer)))
        # The last block may be a short one: always in the last pool, it changes the size of no other.
        blocks = np.append(generator.permutation(number - 1), number - 1)
        parts = np.array_split(blocks, pools)
        return [parts[place].tolist() for place in generator.permutation(pools)]

    def list_sizes(self, epoch: int) -> list[int]:
        """Return how many rows each pool of an epoch has."""
        sizes = self.stream.facts.sizes
        return [sum(sizes[block] for block in pool) for pool in self.list_pools(epoch)]

    def count_batches(self, size: int, world_size: int) -> int:
        """Return how many batches each process has of a pool of so many rows; 0: fewer rows than processes."""
        return -(-size // (self.batch_size * world_size)) if size >= world_size else 0

    def read_pool(self, place: BatchPlace) -> _Pool:
        """Return the batches of a process: every `world_size`-th row of the shuffled pool, in like numbers."""
        table, numbers = self.stream.read_blocks(self.list_pools(place.epoch)[place.pool])
        generator = np.random.default_rng([self.seed, place.epoch, place.pool])
        order = generator.permutation(len(numbers))[place.rank :: place.world_size]
        batches, kept = self.build_batches(table.take(pa.array(order)))
        count = self.count_batches(len(numbers), place.world_size)
        if len(kept) < count:
            raise ValueError(
                f"of {len(order):,} rows that are read together {len(kept):,} can be trained on, too few for {count:,} "
                "batches; most of them hold nothing that the model knows: take other data, or a model that knows it"
            )
        by_length = np.argsort(-batches.lengths(), kind="stable")
        parts = np.array_split(by_length, count)
        return _Pool(batches, [parts[one] for one in generator.permutation(count)], numbers[order[kept]])


@dataclass(frozen=True)
class _Pool:
    """The batches of one pool: the rows of `batches` in each, and the number of each of these rows in the stream."""

    batches: Any
    parts: Sequence[Rows]
    numbers: Rows

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        batch: Mapping[str, torch.Tensor] = self.batches[self.parts[number]]
        return {**batch, "row": torch.from_numpy(self.numbers[self.parts[number]])}


class StreamBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[place]` is the batch of a `BatchPlace`; it holds one pool at a time."""

    def __init__(self, pools: StreamPools) -> None:
        self.pools = pools
        self._held: tuple[BatchPlace, Any] | None = None

    def __getitem__(self, place: BatchPlace) -> dict[str, torch.Tensor]:
        of_pool = place._replace(number=0)
        if self._held is None or self._held[0] != of_pool:
            self._held = None  # before the next one takes memory
            self._held = of_pool, self.pools.read_pool(of_pool)
        batch: dict[str, torch.Tensor] = self._held[1][place.number]
        return batch


class StreamSampler(ResumableSampler[BatchPlace]):
    """Yields the places of the batches of an epoch, those of this process."""

    def __init__(self, pools: StreamPools) -> None:
        super().__init__()
        self.pools = pools

    def __len__(self) -> int:
        return sum(self._count_batches(get_rank_and_world_size()[1]))

    def __iter__(self) -> Iterator[BatchPlace]:
        """Yield the place of each batch of this process, without the batches to skip."""
        rank, world_size = get_rank_and_world_size()
        places = (
            BatchPlace(self.epoch, pool, number, rank, world_size)
            for pool, count in enumerate(self._count_batches(world_size))
            for number in range(count)
        )
        return islice(places, self.skip, None)

    def check_number_of_processes(self, number: int) -> None:
        """Raise ValueError if a pool is too small to give each of `number` processes a batch."""
        self._count_batches(number)

    def _count_batches(self, world_size: int) -> list[int]:
        """Return how many batches each process has of each pool."""
        sizes = self.pools.list_sizes(self.epoch)
        counts = [self.pools.count_batches(size, world_size) for size in sizes]
        if not all(counts):
            raise ValueError(
                f"a part of {format_count(min(sizes), self.pools.unit)} for {format_count(world_size, 'processes')}, "
                "and each needs a batch of it; make batches smaller or shuffle_buffer larger, or take fewer devices"
            )
        return counts


def build_stream_loader(pools: StreamPools, num_workers: int) -> ResumableLoader:
    """Return a loader of a stream's batches that goes on in the middle of an epoch.

    Args:
        pools: Pools of the stream.
        num_workers: 1: a process of its own reads ahead; 0: the training process reads.

    Raises:
        ValueError: more workers, of which each would read every pool; too few rows for the processes of a training.
    """
    if num_workers not in (0, 1):
        raise ValueError(
            f"num_workers is {num_workers}; expected 0 or 1: a stream is read pool by pool, and each further worker "
            "would read every pool once more"
        )
    sampler = StreamSampler(pools)
    return build_resumable_loader(StreamBatches(pools), sampler, num_workers)


def refuse_settings_of_whole_data(settings: Any, usual: Mapping[str, Any], rows: str) -> None:
    """Refuse settings for which all rows must be in memory.

    Args:
        settings: Object with the settings as attributes.
        usual: Name of each such setting to the value that needs nothing.
        rows: Plural noun for the rows, such as "texts".

    Raises:
        ValueError: a setting has another value.
    """
    for name, value in usual.items():
        if getattr(settings, name) != value:
            raise ValueError(
                f"{name}={getattr(settings, name)!r} needs all {rows} in memory, and streaming=True leaves them on the "
                "disk; leave one of the two out"
            )


def count_names(names: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """Return how often each name stands in an array of names or of lists of names."""
    flat = pc.list_flatten(names) if pa.types.is_list(names.type) else names
    return {one["values"]: one["counts"] for one in flat.value_counts().to_pylist()}
