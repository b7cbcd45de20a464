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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

HAS_TRITON = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

interpreted = pytest.mark.skipif(
    not (HAS_TRITON and INTERPRETED), reason="runs under Triton's interpreter, in test_under_the_interpreter"
)
needs_compiler = pytest.mark.skipif(INTERPRETED or not HAS_TRITON, reason="needs Triton's compiler")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available() or INTERPRETED, reason="needs a CUDA device")


def run_under_the_interpreter(file: str, compiled: int = 0) -> None:
    """Run the tests of a file, but for those that need a GPU, in a process with Triton's interpreter.

    Skipped there are the test that calls this, one of the plain CPU, and the `compiled` cases that need Triton's
    compiler: others would mean that values were not compared.
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
    assert re.search(rf"\d+ passed, {2 + compiled} skipped", done.stdout), done.stdout[-5000:]


@contextmanager
def allow_tf32(allowed: bool) -> Iterator[None]:
    """Set whether products in float32 may be computed in TF32, within a `with` block."""
    # Not monkeypatch: this object takes the setting but cannot delete it, which is how monkeypatch restores it.
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def compile_for_hopper(kernel: Any, tensors: dict[str, str], arguments: dict[str, Any]) -> str:
    """Compile a kernel as an H100 would run it, without one: the interpreter takes loops that the compiler refuses.

    Args:
        kernel: A kernel of Triton; its arguments are pointers where their name ends in "_ptr", else integers.
        tensors: The types of arguments that are neither float32 pointers nor integers, such as "*bf16".
        arguments: Constants and options of the launch.

    Returns:
        The assembly.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    def find_type(name: str) -> str:
        if name in arguments:
            return "constexpr"
        return tensors.get(name, "*fp32" if name.endswith("_ptr") else "i32")

    constants = {name: value for name, value in arguments.items() if name in kernel.arg_names}
    options = {name: arguments[name] for name in ("num_warps", "num_stages")}
    source = ASTSource(kernel, {name: find_type(name) for name in kernel.arg_names}, constants)
    assembly: str = compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]
    return assembly
