"""`ctxzoo train` of any problem in two processes as Lightning starts them, without the seconds of their imports.

`train_twice` runs in a program of `run_warm`: it forks, and each copy trains once to the end and once with an
interruption.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.cli.main import main
from ctxzoo.runs.experiment import Experiment
from ctxzoo.training.callbacks import StepSeed
from ctxzoo.training.task import ZooTask

STOPPED_BEHIND = 1  # step of the training that is interrupted


def find_free_port(among: range = range(1)) -> int:
    """Return a port that is free now; of `range(1)` the system chooses any."""
    for port in random.sample(among, len(among)):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return int(listener.getsockname()[1])
    raise OSError(f"none of the ports from {among[0]} to {among[-1]} is free")


def fork_two(work: Callable[[int], None], folder: Path) -> None:
    """Call `work(rank)` in two forks, which print into `printed-<rank>.txt`; exit with 1 if one of them fails."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_free_port()), "GLOO_SOCKET_IFNAME": "lo"}
    children = []
    for rank in range(2):
        if child := os.fork():
            children.append(child)
            continue
        os.environ.update(place, LOCAL_RANK=str(rank))
        rank_zero_only.rank = rank  # which Lightning reads of LOCAL_RANK when it is imported
        status = 1
        torch.set_num_threads(1)
        with (folder / f"printed-{rank}.txt").open("a", encoding="utf-8") as sys.stdout:
            try:
                work(rank)
                status = 0
            except BaseException:
                traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)
    while children:
        child, ended = os.wait()
        children.remove(child)
        if ended:
            for other in children:
                os.kill(other, signal.SIGKILL)
            sys.exit(1)


def train_twice(folder: Path, arguments: list[str]) -> None:
    """Train in two processes below `folder`/whole, then below `folder`/parts, there with an interruption.

    The interruption reaches one of the processes. Each leaves `seen-<rank>.json`: exit statuses, and the rows of the
    batches that it trained on without the interruption. Epochs are whole, also with --tiny.
    """
    build_trainer_settings = Experiment.build_trainer_settings
    Experiment.build_trainer_settings = lambda self: replace(  # type: ignore[method-assign]
        build_trainer_settings(self), limit_train_batches=None, limit_eval_batches=None
    )

    parts = [*arguments, "--output_dir", str(folder / "parts"), "--no_baselines"]

    def train_and_stop(rank: int) -> None:
        rows = _record_rows()
        statuses = [main([*arguments, "--output_dir", str(folder / "whole")])]
        seen = {"rows": rows.copy(), "statuses": statuses}
        if rank == 1:
            StepSeed.on_train_batch_start = _interrupt(StepSeed.on_train_batch_start)  # type: ignore[method-assign]
        statuses.append(main(parts))
        (folder / f"seen-{rank}.json").write_text(json.dumps(seen), encoding="utf-8")

    def go_on(rank: int) -> None:
        if main([*parts, "--resume"]):
            raise AssertionError("the training does not go on")

    fork_two(train_and_stop, folder)
    fork_two(go_on, folder)


def _record_rows() -> list[list[int]]:
    """Let trainings note the rows of each batch, in the list that is returned."""
    rows: list[list[int]] = []
    training_step = ZooTask.training_step

    def note(self: ZooTask, batch: dict[str, torch.Tensor], batch_idx: int) -> Any:
        if "row" in batch:
            rows.append(batch["row"].tolist())
        return training_step(self, batch, batch_idx)

    ZooTask.training_step = note  # type: ignore[method-assign]
    return rows


def _interrupt(begin_step: Any) -> Any:
    def begin(self: StepSeed, trainer: Any, *arguments: Any) -> None:
        if trainer.global_step == STOPPED_BEHIND:
            os.kill(os.getpid(), signal.SIGINT)
        begin_step(self, trainer, *arguments)

    return begin
