"""The group of processes of a distributed training is left in order when the program ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from typing import Any, TypeVar

import torch.distributed
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.data.bucketing import disable_distributed_sharding
from ctxzoo.data.reading_notes import get_reading_notes

Value = TypeVar("Value")


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
    failed: Exception | None = None
    if torch.distributed.get_rank() == 0:
        try:
            with disable_distributed_sharding():
                work()
        except Exception as error:
            failed = error
    reason = broadcast_from_first_process(failed and f"{type(failed).__name__}: {failed}")
    if failed is not None:
        raise failed
    if reason is not None:
        raise OSError(f"the first process could not finish: {reason}")


def is_first_process(processes: int) -> bool:
    """Return whether this process is the first of so many that train together, before and after they are a group."""
    return processes == 1 or int(rank_zero_only.rank) == 0


def broadcast_from_first_process(value: Value) -> Value:
    """Return the value that the first of several training processes has, which must be picklable."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return value
    values = [value]
    torch.distributed.broadcast_object_list(values, src=0)
    return values[0]


@contextmanager
def silence_other_processes(processes: int) -> Iterator[None]:
    """Within this context let only the first of so many training processes print, and show what readers noted."""
    if is_first_process(processes):
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield
    get_reading_notes().format_new_lines()  # counts them as shown


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
