"""Batches of sentences in a random order, the same after a restart in the middle of an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctxzoo.data.bucketing import ResumableSampler


class SentenceBlock(NamedTuple):
    """The sentences of a batch, wherever it is made.

    Attributes:
        sentences: (n,) rows of the corpus.
        key: seed, epoch and number of the batch in it, from 1 on; what is drawn for the batch follows from these.
    """

    sentences: npt.NDArray[np.int64]
    key: tuple[int, int, int]


class SentenceSampler(ResumableSampler[SentenceBlock]):
    """Every sentence once in an epoch, in an order fixed by (seed, epoch), the same number of them in each block.

    With several processes each takes every `world_size`-th block. The few blocks that would leave some process without
    one are left out, since every process must take the same number of steps.

    Args:
        sentences: how many there are.
        block_size: sentences in a block, 1 or more; the last block may have fewer.
        seed: of the order.
        rank, world_size: this process and their number.

    Raises:
        ValueError: fewer blocks than processes.
    """

    def __init__(self, sentences: int, block_size: int, *, seed: int, rank: int = 0, world_size: int = 1) -> None:
        super().__init__()
        self.sentences = sentences
        self.block_size = block_size
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        if not len(self):
            raise ValueError(
                f"{sentences} sentences give fewer batches of {block_size} than there are processes, {world_size}; "
                "lower batch_size or the number of devices"
            )

    def __len__(self) -> int:
        return -(-self.sentences // self.block_size) // self.world_size

    def __iter__(self) -> Iterator[SentenceBlock]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.sentences)
        for step in range(self.skip, len(self)):
            number = step * self.world_size + self.rank
            block = order[number * self.block_size : (number + 1) * self.block_size]
            # numpy draws alike from (seed, epoch), which the order has, and (seed, epoch, 0).
            yield SentenceBlock(block, (self.seed, self.epoch, number + 1))
