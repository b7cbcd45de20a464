"""Runs whose process kills itself in the middle of an epoch, and what a run leaves, to be compared to the bit."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass, fields
from typing import Any

import torch

from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.training.trainer import BEST, LAST


@dataclass(frozen=True, kw_only=True)
class KilledRun(ExperimentRun):
    """A run whose process is killed behind `kill_at` steps, in the next, which has moved the weights."""

    kill_at: int

    def build_task(self, data: Any, processes: int) -> Any:
        task = super().build_task(data, processes)
        train = task.optimizer_step

        def step_and_die(*arguments: Any, **options: Any) -> None:
            train(*arguments, **options)
            if task.trainer.global_step == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        task.optimizer_step = step_and_die
        return task


def killed_at(run: ExperimentRun, step: int) -> ExperimentRun:
    """Return the run as one that kills its process in the step behind the first `step`."""
    values = {one.name: getattr(run, one.name) for one in fields(run)}
    return KilledRun(**values, kill_at=step)


def _execute(run: ExperimentRun) -> None:
    torch.set_num_threads(1)
    execute(run, resume=True, quiet=True)


def execute_apart(run: ExperimentRun) -> int | None:
    """Resume or begin a run in a process of its own, and return its exit status."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.killed_runs"])  # import torch once for all processes
    process = context.Process(target=_execute, args=(run,))
    process.start()
    process.join(300)
    assert process.exitcode is not None, "the training hangs"
    return process.exitcode


def what_is_left(run: ExperimentRun) -> dict[str, Any]:
    """Return the states of the last and of the best epoch: weights, optimizer, schedule, counters."""
    kept = ("state_dict", "optimizer_states", "lr_schedulers", "epoch", "global_step")
    found = {}
    for file in (LAST, BEST):
        state = torch.load(run.folder / "lightning" / file, weights_only=True)
        found |= {f"{file} {name}": state[name] for name in kept}
    return found
