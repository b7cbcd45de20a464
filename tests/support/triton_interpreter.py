"""Tests of Triton's kernels: on a CUDA device, or on the CPU under Triton's interpreter.

Triton decides for the interpreter when it is first imported, from TRITON_INTERPRET, and torch may import it at any time
and expect a compiler. So a file of tests does not set the variable in its own process: one test of the file runs it
once more in a process that has it set, and the tests of values skip themselves in a process that has not.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

HAS_TRITON = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

interpreted = pytest.mark.skipif(
    not (HAS_TRITON and INTERPRETED), reason="runs under Triton's interpreter, in test_under_the_interpreter"
)
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available() or INTERPRETED, reason="needs a CUDA device")


def run_under_the_interpreter(file: str) -> None:
    """Run the tests of a file, but for those that need a GPU, in a process with Triton's interpreter.

    Two may be skipped there, the test that calls this and one of the plain CPU: others would mean that values were not
    compared.
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Without options of the session around it, workers of pytest-xdist above all.
    environment = {key: value for key, value in environment.items() if not key.startswith("PYTEST_")}
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu", "--durations=5", file]
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=root, capture_output=True, text=True, timeout=600
    )
    print(done.stdout)
    if done.returncode != 0 and "only 0-dimensional arrays can be converted" in done.stdout:
        pytest.skip("the interpreter of this Triton (3.6 is one) cannot run any loop with NumPy 2.4 or newer")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed, 2 skipped", done.stdout), done.stdout[-5000:]
