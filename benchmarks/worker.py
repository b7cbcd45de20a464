"""One side of a comparison in a process of its own, so that its peak memory and its allocator are its own.

Started by `training_step`; reads one command a line (check FILE, evaluation, training, memory, reset) and answers each
with one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.sides import Runner, Side

ROOT = Path(__file__).resolve().parents[1]


class WorkerEndedError(RuntimeError):
    """A worker died; the message says with which status (-9: killed, most often for want of memory)."""


class Worker:
    """Handle of a worker process. Use as a context manager."""

    def __init__(self, side: Side, inputs: Path, device: str, threads: int) -> None:
        self.side = side
        arguments = [f"--inputs={inputs}", f"--side={json.dumps(asdict(side))}", f"--device={device}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", *arguments, f"--threads={threads}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)},
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, command: str) -> Any:
        """Send a command, wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer tells
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise WorkerEndedError(
                f"{self.side.label}: the process ended with status {status} at {command.split()[0]!r}"
            )
        return json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--side", type=json.loads, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    # Whatever a library prints must not look like an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    runner = Runner(Side(**options.side), options.inputs, options.device)
    for line in sys.stdin:
        print(json.dumps(answer(runner, line.strip())), file=answers, flush=True)


def answer(runner: Runner, line: str) -> float | None:
    """Do what one command says."""
    command, _, argument = line.partition(" ")
    if command == "check":
        torch.save(runner.answers(), argument)
        return None
    if command == "memory":
        return runner.peak_memory()
    if command == "reset":
        runner.reset_peak()
        return None
    return runner.round("evaluation" if command == "evaluation" else "training")


if __name__ == "__main__":
    main()
