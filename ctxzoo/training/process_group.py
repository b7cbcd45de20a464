"""The group of processes of a distributed training is left in order when the program ends."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache

import torch.distributed


@cache  # once for a program
def leave_group_at_exit() -> None:
    """Lightning does so for NCCL alone; gloo's threads, when still at work, can abort the end of the interpreter."""
    atexit.register(leave_group)


def leave_group() -> None:
    """Destroy the default group, where there is one."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def in_first_process(work: Callable[[], None]) -> None:
    """Call `work` in the first of the processes that train together, while the others wait."""
    together = torch.distributed.is_available() and torch.distributed.is_initialized()
    if not together or torch.distributed.get_rank() == 0:
        work()
    if together:
        torch.distributed.barrier()
