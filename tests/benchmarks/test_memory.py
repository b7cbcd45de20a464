"""A program started by a large one reports its own peak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.memory import own_peak_memory_mb

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
