"""The memory of a process is the system's account of that process alone."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxzoo.results import process_memory
from ctxzoo.results.process_memory import get_memory_limit_bytes, get_peak_resident_bytes, get_resident_bytes

needs_account = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's own account")

# The module by its path: importing the package would load torch into the small process.
PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("process_memory", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
begin = module.get_peak_resident_bytes()
block = bytearray(64 * 2**20)
held = module.get_resident_bytes()
del block
print(begin, held, module.get_peak_resident_bytes(), module.get_resident_bytes())
"""


@needs_account
def test_a_small_program_of_a_large_one_tells_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, process_memory.__file__], capture_output=True, text=True, check=True
    )
    begin, held, peak, after = (int(value) / 2**20 for value in done.stdout.split())
    assert 0 < begin < 100 < get_peak_resident_bytes() / 2**20  # this process has loaded torch
    assert 63 < held - begin < 70
    assert 63 < peak - begin < 70
    assert after - begin < 10


@needs_account
def test_what_is_told_to_children_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=2**40))
    assert get_resident_bytes() <= get_peak_resident_bytes() < 2**40


@pytest.mark.parametrize("status", [None, "Name:\tpython\nVmSwap:\t 7 kB\n"])
@pytest.mark.parametrize(("system", "unit"), [("linux", 1024), ("darwin", 1)])
def test_without_the_account_of_linux(
    status: str | None, system: str, unit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if status is not None:
        (tmp_path / "status").write_text(status)
    monkeypatch.setattr(process_memory, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(process_memory, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=3 * 2**20))
    assert get_peak_resident_bytes() == 3 * 2**20 * unit
    assert get_resident_bytes() == 0


def test_a_container_allows_what_its_limit_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (tmp_path / "memory.max", tmp_path / "limit_in_bytes")
    monkeypatch.setattr(process_memory, "_LIMITS", files)
    machine = get_memory_limit_bytes()
    assert machine == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files[0].write_text("max\n")
    assert get_memory_limit_bytes() == machine
    files[1].write_text("9223372036854771712\n")  # what cgroup v1 says where there is no limit
    assert get_memory_limit_bytes() == machine
    files[0].write_text(f"{512 * 2**20}\n")
    assert get_memory_limit_bytes() == 512 * 2**20


@pytest.mark.parametrize("error", [AttributeError, ValueError, OSError])
def test_a_system_that_does_not_say_what_it_allows(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def sysconf(name: str) -> int:
        raise error(name)

    monkeypatch.setattr(process_memory, "os", SimpleNamespace(sysconf=sysconf))
    assert get_memory_limit_bytes() == 0
