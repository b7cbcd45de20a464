"""One side of a comparison in a process of its own, so that its peak memory and its allocator are its own.

The side's class comes from a module that also has a `Runner`, made of the side and more arguments. The process reads
one call of a method of this runner a line (JSON: name and arguments), and answers each with one line of JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]


class WorkerEndedError(RuntimeError):
    """A worker died; the message says with which status (-9: killed, most often for want of memory)."""


class Worker:
    """Handle of a worker process. Use as a context manager.

    Args:
        side: Settings of what is timed: a dataclass with a `label`, defined beside a `Runner` in its module.
        threads: Number of threads that PyTorch uses.
        arguments: Arguments of `Runner` after the side.
        variables: Environment variables of the worker process, name to value; None removes a variable.
    """

    def __init__(
        self, side: Any, threads: int, *arguments: str, variables: Mapping[str, str | None] | None = None
    ) -> None:
        """Start the process; it builds the `Runner` of the side's module with the side and `arguments`.

        `variables` are further environment variables; None unsets one.
        """
        self.side = side
        about = [f"--module={type(side).__module__}", f"--side={json.dumps(asdict(side))}", f"--threads={threads}"]
        environment = {
            "KINETO_LOG_LEVEL": "99",  # PyTorch's profiler logs every start
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            **(variables or {}),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", *about, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={name: value for name, value in environment.items() if value is not None},
        )

    def __enter__(self) -> Worker:
        """Return the worker itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call the runner's method `name` in the worker process, and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer shows it
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise WorkerEndedError(f"{self.side.label}: the process ended with status {status} at {name!r}")
        return json.loads(line)


def main() -> None:
    """Run as the worker process: build the runner, call the methods that a `Worker` asks for, send back results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--side", type=json.loads, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    # What a library prints, in Python or not, must not look like an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False  # 32 bits are 32 bits: cuDNN's recurrences would keep 10 of the fraction
    module = importlib.import_module(options.module)
    runner = module.Runner(module.Side(**options.side), *options.arguments)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(runner, name)(*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()
