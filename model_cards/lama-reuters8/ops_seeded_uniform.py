"""Uniform numbers as a function of a seed alone: the same bits on every device, platform and version of torch."""

import torch

_ROUNDS = ((16, 0x7FEB352D), (15, 0x846CA68B))  # of the hash function "lowbias32"
_COLUMNS = 0x9E3779B9
_MASK = 0xFFFFFFFF


def _mix(values: torch.Tensor) -> torch.Tensor:
    """A bijection of 32-bit integers, held in int64, that spreads neighbours over the whole range."""
    for shift, factor in _ROUNDS:
        values = ((values ^ (values >> shift)) * factor) & _MASK
    return values ^ (values >> 16)


def seeded_uniform(rows: int, columns: int, seed: int, *, device: torch.device | None = None) -> torch.Tensor:
    """(rows, columns) float32 numbers in [-1, 1), multiples of 2^-23; entry (r, c) depends on seed, r and c only.

    Integer arithmetic throughout, so nothing is rounded and every machine gives the same bits; torch's own generators
    promise that for one release on one kind of device.
    """
    start = _mix(torch.tensor(seed & _MASK, dtype=torch.int64, device=device))
    row_keys = _mix(torch.arange(rows, dtype=torch.int64, device=device) ^ start)
    # Another start than that of the rows: otherwise the diagonal would be constant.
    column_keys = _mix((torch.arange(columns, dtype=torch.int64, device=device) + _COLUMNS) & _MASK)
    bits = _mix(row_keys.unsqueeze(1) ^ column_keys) >> 8  # 24 bits
    return bits.to(torch.float32) * 2.0**-23 - 1.0


def reference_seeded_uniform(rows: int, columns: int, seed: int) -> list[list[float]]:
    """The same with Python's integers, entry by entry."""

    def mix(value: int) -> int:
        for shift, factor in _ROUNDS:
            value = (value ^ (value >> shift)) * factor % 2**32
        return value ^ (value >> 16)

    start = mix(seed % 2**32)
    return [
        [(mix(mix(row ^ start) ^ mix((column + _COLUMNS) % 2**32)) >> 8) / 2**23 - 1 for column in range(columns)]
        for row in range(rows)
    ]
