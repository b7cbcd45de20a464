"""The group of processes of a distributed training is left in order when the program ends."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch.distributed

from ctxzoo.data.bucketing import disable_distributed_sharding


@cache  # once for a program
def destroy_process_group_at_exit() -> None:
    """Have the default process group of torch destroyed when the program ends.

    Lightning does so for NCCL alone; gloo's threads, when still at work, can abort the end of the interpreter.
    """
    atexit.register(destroy_process_group)


def destroy_process_group() -> None:
    """Destroy the default process group of torch, if there is one."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def run_in_first_process(work: Callable[[], object]) -> None:
    """Call `work` in the first of several training processes while the others wait.

    Raises:
        OSError: raised in the others when `work` raised an error in the first, which raises its own.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        work()
        return
    reasons: list[str | None] = [None]
    failed: Exception | None = None
    if torch.distributed.get_rank() == 0:
        try:
            with disable_distributed_sharding():
                work()
        except Exception as error:
            failed = error
            reasons = [f"{type(error).__name__}: {error}"]
    torch.distributed.broadcast_object_list(reasons, src=0)
    if failed is not None:
        raise failed
    if reasons[0] is not None:
        raise OSError(f"the first process could not finish: {reasons[0]}")


def check_batches_for_processes(data: Any, splits: Sequence[str], processes: int) -> None:
    """Raise an error, before training, if the data has too few batches for all processes.

    Args:
        data: DataModule after its `setup`.
        splits: Names of the splits to be scored.
        processes: Number of processes that train together.

    Raises:
        ValueError: a process would have no batch of a split, see `ResumableSampler.check_number_of_processes`.
    """
    if processes == 1:
        return
    loaders = {"train": data.train_dataloader(), **{split: data.split_dataloader(split) for split in splits}}
    for split, loader in loaders.items():
        try:
            loader.sampler.check_number_of_processes(processes)
        except ValueError as error:
            raise ValueError(f"{split} has {error}") from error
