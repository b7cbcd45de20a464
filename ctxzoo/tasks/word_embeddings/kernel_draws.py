"""What the compiled trainer of word vectors draws: random bits, numbers, noise words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxzoo.tasks.word_embeddings.compiled import compiled, inlined


@inlined
def random_bits(state: Any) -> Any:
    """Return 64 random bits: xorshift64* of Vigna (2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@inlined
def number_below(bits: Any, limit: int) -> Any:
    """Return a number from 0 to limit - 1, made of 32 random bits."""
    return np.int64((bits * np.uint64(limit)) >> np.uint64(32))


@compiled
def draw_noise(limits: Any, others: Any, state: Any, drawn: Any) -> None:
    """Draw noise words into drawn[1:], by the tables of `alias_table`."""
    for index in range(1, len(drawn)):
        bits = random_bits(state)
        word = number_below(bits >> np.uint64(32), len(limits))
        drawn[index] = word if np.uint32(bits & np.uint64(0xFFFFFFFF)) < limits[word] else others[word]
