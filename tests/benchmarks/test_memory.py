"""Tensors are counted as they come and go."""

from __future__ import annotations

import torch

from benchmarks.memory import measure_allocated_peak_mb


def test_peak_of_tensors_is_what_is_held_at_a_time() -> None:
    before = torch.ones(2**18)  # 1 MiB

    def work() -> None:
        one = before + 1
        two = one + 1
        del one
        three = two + 1
        del two, three

    for _ in range(2):  # what an earlier count saw is not counted again
        assert 2 <= measure_allocated_peak_mb(work, "cpu") < 2.01
