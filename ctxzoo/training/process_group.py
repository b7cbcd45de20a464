"""The group of processes of a distributed training is left in order when the program ends."""

from __future__ import annotations

import atexit
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
