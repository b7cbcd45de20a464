"""A program started by a large one reports its own peak; tensors are counted as they come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.memory import allocated_peak_mb, own_peak_memory_mb

# The module by its path: importing the package would load torch into the small process.
PROGRAM = """
import importlib.util, sys, types
environment = types.ModuleType("ctxzoo.evaluation.environment")
environment.peak_memory_mb = lambda: -1.0
for name in ("ctxzoo", "ctxzoo.evaluation"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["ctxzoo.evaluation.environment"] = environment
spec = importlib.util.spec_from_file_location("memory", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
before = module.own_peak_memory_mb()
block = bytearray(64 * 2**20)
print(before, module.own_peak_memory_mb() - before)
"""


def test_peak_is_that_of_the_program_alone() -> None:
    file = Path(__file__).resolve().parents[2] / "benchmarks" / "memory.py"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=True)
    before, grown = (float(value) for value in done.stdout.split())
    assert 0 < before < 100 < own_peak_memory_mb()  # this process has loaded torch
    assert 63 < grown < 70


def test_peak_of_tensors_is_what_is_held_at_a_time() -> None:
    before = torch.ones(2**18)  # 1 MiB

    def work() -> None:
        one = before + 1
        two = one + 1
        del one
        three = two + 1
        del two, three

    for _ in range(2):  # what an earlier count saw is not counted again
        assert 2 <= allocated_peak_mb(work, "cpu") < 2.01
