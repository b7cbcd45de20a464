"""Batches of similar length, the same after a restart in the middle of an epoch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from ctxzoo.data.notices import format_count

Block = TypeVar("Block", covariant=True)
POOL_BATCHES = 50  # batches whose rows are sorted by length together: enough to pad little, few enough to stay random


class ResumableSampler(DistributedSampler[Block]):
    """Yields what a batch is made of; `ResumableLoader` says where it begins.

    It divides batches among processes by itself, and so is a `DistributedSampler`: in a Trainer of several devices
    Lightning replaces any other by one of single rows.
    """

    def __init__(self) -> None:
        # Not that of the base, whose rank and rows this class has no use for.
        self.epoch = 0
        self.skip = 0  # batches of the next pass to leave out; set by ResumableLoader

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of this epoch; Lightning calls it."""
        self.epoch = epoch

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of batches of an epoch."""

    def check_number_of_processes(self, number: int) -> None:
        """Raise ValueError for so many processes that one of them would have no batch.

        Raises:
            ValueError: there are too many.
        """


class BucketSampler(ResumableSampler[list[int]]):
    """Yields lists of row numbers, one list a batch.

    Shuffled: rows are drawn in a random order fixed by (seed, epoch), sorted by length within pools of
    `pool_batches` batches, cut into batches, and the batches are shuffled. Not shuffled: sorted by length, longest
    first, so that a batch too large for memory fails at once.

    With several processes each takes every `world_size`-th batch. When shuffled, the few batches that would leave some
    process without one are left out, since every process must take the same number of steps; otherwise processes may
    have different numbers of batches and every row occurs exactly once. No process may be without a batch, where the
    others would wait for its scores: what is not shuffled and has too few gets smaller ones.

    Args:
        lengths: (rows,) lengths in words, by which rows are sorted.
        batch_size: Rows in a batch.
        shuffle: Whether every epoch has a random order of its own.
        seed: Seed of the random order.
        pool_batches: Number of batches whose rows are sorted by length together; 1: batches are random.
        rank, world_size: Rank of this process and number of processes; None: those of torch.distributed when an epoch
            begins.

    Raises:
        ValueError: batch_size or pool_batches below 1; when an epoch begins, see `check_number_of_processes`.
    """

    def __init__(
        self,
        lengths: Sequence[int] | npt.NDArray[Any],
        batch_size: int,
        *,
        shuffle: bool,
        seed: int = 0,
        pool_batches: int = POOL_BATCHES,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if pool_batches < 1:
            raise ValueError(f"pool_batches must be at least 1, got {pool_batches}; 1 gives random batches")
        super().__init__()
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.pool_batches = pool_batches
        self._fixed_place = None if rank is None or world_size is None else (rank, world_size)

    def _get_rank_and_world_size(self) -> tuple[int, int]:
        """Return the rank of this process and the number of processes that share the batches."""
        return get_rank_and_world_size() if self._fixed_place is None else self._fixed_place

    def __len__(self) -> int:
        rank, world_size = self._get_rank_and_world_size()
        self.check_number_of_processes(world_size)
        total = -(-len(self.lengths) // self._choose_batch_size(world_size))
        return total // world_size if self.shuffle else len(range(rank, total, world_size))

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the row numbers of each batch of this process, without the batches to skip."""
        rank, world_size = self._get_rank_and_world_size()
        batches = self._build_batches(self._choose_batch_size(world_size))[rank::world_size][: len(self)]
        yield from batches[self.skip :]

    def check_number_of_processes(self, number: int) -> None:
        """Raise ValueError if there are too few rows or batches to give each process one.

        With a rank and number of processes of its own, the number that divides the batches is that.
        """
        if self._fixed_place is not None:
            number = self._fixed_place[1]
        units, unit = -(-len(self.lengths) // self.batch_size), "batches"
        if not self.shuffle:
            units, unit = len(self.lengths), "rows"
        if number > 1 and units < number:
            advice = "make the batches smaller" if self.shuffle else "add some"
            raise ValueError(
                f"{format_count(units, unit)} for {number} processes, and each needs one; {advice} or take fewer "
                "devices"
            )

    def _choose_batch_size(self, world_size: int) -> int:
        """Return the batch size, without shuffling reduced so that each of `world_size` processes has a batch."""
        rows = len(self.lengths)
        if self.shuffle or -(-rows // self.batch_size) >= world_size:
            return self.batch_size
        return max(1, rows // world_size)

    def _build_batches(self, batch_size: int) -> list[list[int]]:
        """Return the row numbers of every batch of the epoch, for all processes together."""
        if not self.shuffle:
            order = np.argsort(-self.lengths, kind="stable")
            return [order[start : start + batch_size].tolist() for start in range(0, len(order), batch_size)]
        generator = np.random.default_rng([self.seed, self.epoch])
        order = generator.permutation(len(self.lengths))
        batches: list[list[int]] = []
        for start in range(0, len(order), batch_size * self.pool_batches):
            pool = order[start : start + batch_size * self.pool_batches]
            pool = pool[np.argsort(-self.lengths[pool], kind="stable")]
            batches += [pool[cut : cut + batch_size].tolist() for cut in range(0, len(pool), batch_size)]
        return [batches[index] for index in generator.permutation(len(batches))]


class ResumableLoader(DataLoader[Any]):
    """A DataLoader over a `ResumableSampler` that can resume in the middle of an epoch.

    `dataset[what the sampler yields]` must give a whole batch. Lightning saves `state_dict()` with its checkpoints and
    gives it back before the first batch; the batches of that epoch that were already seen are then left out without
    being built.
    """

    def __init__(
        self, dataset: Dataset[Any], *, sampler: ResumableSampler[Any], batch_size: None = None, **kwargs: Any
    ) -> None:
        # Lightning makes the loader again from its arguments, with another `sampler` and `batch_size` by these names.
        self._seen = 0
        self._resume_at: dict[str, int] | None = None
        super().__init__(dataset, sampler=sampler, batch_size=batch_size, **kwargs)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Yield the batches, after a restart from the one at which the checkpoint was written."""
        sampler = self.sampler
        assert isinstance(sampler, ResumableSampler)
        state, self._resume_at = self._resume_at, None
        # A checkpoint written after the last batch belongs to a finished pass: the next one begins at its first batch.
        within = state is not None and state["epoch"] == sampler.epoch and state["batches"] < len(sampler)
        self._seen = sampler.skip = state["batches"] if state is not None and within else 0
        for batch in super().__iter__():
            self._seen += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return the epoch and the number of its batches handed out so far, for a checkpoint."""
        assert isinstance(self.sampler, ResumableSampler)
        return {"epoch": self.sampler.epoch, "batches": self._seen}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue behind the batches that `state` counts, once the sampler is at the same epoch."""
        self._resume_at = dict(state)


def build_bucket_loader(
    dataset: Dataset[Any],
    lengths: npt.NDArray[np.int64],
    batch_size: int,
    *,
    shuffle: bool,
    seed: int,
    num_workers: int = 0,
    pool_batches: int = POOL_BATCHES,
) -> ResumableLoader:
    """Return a loader of `dataset`'s batches of similar length; among several processes, of this one's part.

    Args:
        dataset: Dataset that returns a whole batch for a list of row numbers.
        lengths: (rows,) lengths in words, by which batches are formed.
        batch_size: Rows in a batch.
        shuffle: Whether batches are shuffled, as for training.
        seed: Seed of the random order of batches.
        num_workers: Number of worker processes that build batches; 0: this process builds them.
        pool_batches: Number of batches whose rows are sorted by length together, as in `BucketSampler`.
    """
    sampler = BucketSampler(lengths, batch_size, shuffle=shuffle, seed=seed, pool_batches=pool_batches)
    return build_resumable_loader(dataset, sampler, num_workers)


def build_resumable_loader(
    dataset: Dataset[Any], sampler: ResumableSampler[Any], num_workers: int = 0
) -> ResumableLoader:
    """Return a loader of whole batches that can continue within an epoch; `num_workers` as in `build_bucket_loader`."""
    return ResumableLoader(
        dataset,
        sampler=sampler,
        num_workers=num_workers,
        pin_memory=torch.cuda.is_available(),
        persistent_workers=num_workers > 0,
    )


_alone = False


@contextmanager
def disable_distributed_sharding() -> Iterator[None]:
    """Within a `with` block, let loaders give this process all rows, not its share in distributed training."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def get_rank_and_world_size() -> tuple[int, int]:
    """Return the rank of this process among those that share the rows, and their number."""
    if not _alone and torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1
