"""Word vectors that follow from a seed, entry by entry, with the integers of Python."""

from __future__ import annotations

ROUNDS = ((16, 0x7FEB352D), (15, 0x846CA68B))  # shifts and factors of the hash function "lowbias32"
COLUMNS = 0x9E3779B9


def reference_seeded_uniform(rows: int, columns: int, seed: int) -> list[list[float]]:
    """Compute what `seeded_uniform` gives with Python's integers, entry by entry: a list of rows."""

    def mix(value: int) -> int:
        for shift, factor in ROUNDS:
            value = (value ^ (value >> shift)) * factor % 2**32
        return value ^ (value >> 16)

    start = mix(seed % 2**32)
    return [
        [(mix(mix(row ^ start) ^ mix((column + COLUMNS) % 2**32)) >> 8) / 2**23 - 1 for column in range(columns)]
        for row in range(rows)
    ]
