"""Memory that this process holds, has held at most, and may hold; memory of the machine."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")  # Linux only
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))  # of a container


def get_resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not say."""
    return _read_proc_status_bytes("VmRSS") or 0


def get_peak_resident_bytes() -> int:
    """Return the peak resident memory of this process in bytes; 0 if the system does not say.

    Linux hands the peak that getrusage reports on to the programs that a process starts: a small one would show its
    large parent's. The figure in /proc begins anew with each program.
    """
    peak = _read_proc_status_bytes("VmHWM")
    if peak is not None:
        return peak
    import resource  # only on Unix, and only needed here

    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def get_machine_memory_bytes() -> int:
    """Return the memory of the machine in bytes; 0 if the system does not say."""
    try:
        return max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), 0)
    except (AttributeError, ValueError, OSError):  # no sysconf on Windows; elsewhere without these names
        return 0


def get_memory_limit_bytes() -> int:
    """Return the memory in bytes of the machine, or a container's lower limit; 0 where the system does not say."""
    sizes = [get_machine_memory_bytes()]
    for file in _LIMITS:
        try:
            text = file.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():  # "max" where there is none
            sizes.append(int(text))
    return min(sizes)


def _read_proc_status_bytes(name: str) -> int | None:
    """Return the bytes in one line of /proc/self/status; None without such a line."""
    try:
        text = _STATUS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(rf"^{name}:\s*(\d+) kB$", text, flags=re.MULTILINE)
    return int(match[1]) * 1024 if match else None
