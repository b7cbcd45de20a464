"""Peak memory, of a program or of the tensors that some work allocates, and sizes on the disk."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ctxzoo.results.process_memory import get_peak_resident_bytes


def measure_own_peak_memory_mb() -> float:
    """Return the greatest resident memory of this program so far, in MiB."""
    return get_peak_resident_bytes() / 2**20


def measure_disk_mb(place: Path) -> float:
    """Return the size of a file, or of all files of a folder, in MB; what is linked to does not count."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink()) / 1e6


def measure_allocated_peak_mb(work: Callable[[], Any], device: str) -> float:
    """Return the peak MiB of tensors that `work` allocates, beyond what is allocated before it.

    On the CPU the profiler counts, which takes time and memory of its own: nothing is to be timed meanwhile.

    Args:
        work: Function whose memory is measured; it is called once, without arguments.
        device: Device type, "cpu" or "cuda".
    """
    import torch  # the rest of this file serves small programs

    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        work()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    allocated = peak = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(file))
        # Read line by line: a recurrent layer of some thousand steps fills hundreds of megabytes.
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if found := re.search(r'"Bytes": (-?\d+), "Device Id": -1,', line):
                    allocated += int(found[1])
                    peak = max(peak, allocated)
    return peak / 2**20
