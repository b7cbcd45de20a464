"""Let the C library keep the memory that a training step frees."""

from __future__ import annotations

import ctypes
import sys

# <malloc.h>
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_TOP_PAD = 256 * 2**20


def keep_freed_memory() -> bool:
    """Stop glibc from handing large freed blocks back to the system; True where that was possible.

    A training step on the CPU allocates and frees the same large tensors again and again. By default glibc maps each
    anew and the kernel fills it with zeros page by page, which takes about a third of the time of a BiLSTM's step
    (benchmarks/training_step.py measures it). Only glibc has these switches; elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    results = [mallopt(_M_MMAP_MAX, 0), mallopt(_M_TRIM_THRESHOLD, -1), mallopt(_M_TOP_PAD, _TOP_PAD)]
    return all(results)
