"""Sequences of different lengths side by side, without padding: step after step of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST_TOKENS = 1 << 15  # of a pack, which bounds the memory of what is kept for each token


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """Some sequences, the longest first, so that the first rows of a step are those that go on to the next.

    Attributes:
        positions: (tokens,) where each packed token stands in the running text of all sequences.
        steps: the packed tokens of step 0, 1, …: one of each sequence that is so long, in the same order.
    """

    positions: npt.NDArray[np.int64]
    steps: tuple[slice, ...]


def pack_sequences(lengths: Sequence[int], most_tokens: int = MOST_TOKENS) -> Iterator[PackedSequences]:
    """Sort sequences of like length into packs, which together hold every token once.

    Args:
        lengths: of each sequence in the running text; sequences of length 0 are in no pack.
        most_tokens: of a pack; a longer sequence has a pack of its own.
    """
    sizes = np.asarray(lengths, np.int64)
    begins = np.cumsum(sizes) - sizes
    chosen: list[int] = []
    tokens = 0
    for sequence in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[sequence])
        if chosen and (size == 0 or tokens + size > most_tokens):
            yield _pack(begins[chosen], sizes[chosen])
            chosen, tokens = [], 0
        if size == 0:
            return
        chosen.append(sequence)
        tokens += size
    if chosen:
        yield _pack(begins[chosen], sizes[chosen])


def _pack(begins: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> PackedSequences:
    """Pack sequences from the longest to the shortest."""
    going_on = [int(np.count_nonzero(sizes > step)) for step in range(int(sizes[0]))]
    ends = np.cumsum(going_on).tolist()
    steps = tuple(slice(end - count, end) for count, end in zip(going_on, ends, strict=True))
    positions = np.concatenate([begins[:count] + step for step, count in enumerate(going_on)])
    return PackedSequences(positions, steps)
