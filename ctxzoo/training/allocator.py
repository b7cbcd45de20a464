"""Let the C library keep the memory that a training step on the CPU frees."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import lightning

from ctxzoo.results.process_memory import get_memory_limit_bytes, get_resident_bytes

# <malloc.h>
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_TOP_PAD = 256 * 2**20
_GROWTH = 4 * 2**30


def _load_glibc() -> Any | None:
    """Return the C library if it is glibc on Linux, whose memory allocator can be set; otherwise None."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def keep_freed_memory() -> bool:
    """Stop glibc from giving freed memory back to the system, which costs time; return whether that was possible.

    A training step on the CPU allocates and frees the same large tensors again and again. By default glibc maps each
    anew and the kernel fills it with zeros page by page, which takes a good part of the time of a BiLSTM's step
    (benchmarks/training_step.py measures it). Only glibc has these switches; elsewhere nothing happens.
    """
    library = _load_glibc()
    if library is None:
        return False
    settings = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, -1), (_M_TOP_PAD, _TOP_PAD))
    return all(library.mallopt(name, value) for name, value in settings)


def _choose_trim_threshold() -> int:
    """Return how many bytes of freed memory the process keeps: a fixed amount, or a quarter of its limit if less."""
    allowed = get_memory_limit_bytes()
    return min(_GROWTH, allowed // 4) if allowed else _GROWTH


class KeepFreedMemory(lightning.Callback):
    """Calls `keep_freed_memory` when training on the CPU starts, and hands unused pages back from time to time.

    Batches differ in length, so the kept memory falls to pieces in time and grows; without the return a long training
    would hold several times what one step needs. What is handed back is soon mapped and filled with zeros again, so a
    return every few steps costs as much as never keeping anything.

    Args:
        every: Number of training steps after which unused memory pages are given back to the system.
        growth: Growth of the process in bytes, since pages were last given back, after which they are given back at
            once; None: 4 GiB, or a quarter of the available memory if less.
    """

    def __init__(self, every: int = 400, growth: int | None = None) -> None:
        self.every = every
        self.growth = _choose_trim_threshold() if growth is None else growth
        self._library: Any | None = None
        self._batches = 0  # of all epochs: one epoch may be shorter than `every`
        self._trimmed = 0  # bytes in memory when pages were last handed back

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        # Set either way: the same callback may have served a training on the CPU before.
        self._library = _load_glibc() if pl_module.device.type == "cpu" and keep_freed_memory() else None
        self._trimmed = get_resident_bytes()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._batches += 1
        if self._library is None:
            return
        if self._batches % self.every == 0 or get_resident_bytes() - self._trimmed > self.growth:
            self._library.malloc_trim(0)
            self._trimmed = get_resident_bytes()
