"""Peak memory of a process that another one started."""

from __future__ import annotations

import re
from pathlib import Path

from ctxzoo.evaluation.environment import peak_memory_mb


def own_peak_memory_mb() -> float:
    """Greatest resident memory of this program so far, in MiB.

    Linux hands the peak that getrusage reports from a process on to those it starts, so that a small worker of a large
    parent shows the parent's; the figure in /proc begins anew with the program.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return peak_memory_mb()
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, flags=re.MULTILINE)
    return int(found[1]) / 1024 if found else peak_memory_mb()
