from __future__ import annotations

import json
import platform
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ctxzoo.training import allocator
from ctxzoo.training.allocator import KeepFreedMemory, keep_freed_memory
from tests.support.doors import offline
from tests.support.warm_python import run_warm

GLIBC = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"


class Library:
    """A C library that writes down what it is asked for."""

    def __init__(self, accepts: bool = True) -> None:
        self.accepts = accepts
        self.options: list[tuple[int, int]] = []
        self.trims: list[int] = []

    def mallopt(self, name: int, value: int) -> int:
        self.options.append((name, value))
        return int(self.accepts)

    def malloc_trim(self, pad: int) -> int:
        self.trims.append(pad)
        return 1


def use(monkeypatch: pytest.MonkeyPatch, library: Any, system: str = "linux") -> None:
    # Names of the module only: the test process keeps its own platform and allocator.
    monkeypatch.setattr(allocator, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(allocator, "ctypes", SimpleNamespace(CDLL=lambda name: library))


def train(callback: KeepFreedMemory, device: str, batches: int, epochs: int = 1) -> None:
    trainer: Any = None
    module = SimpleNamespace(device=torch.device(device))
    callback.on_train_start(trainer, module)
    for _ in range(epochs):
        for batch_idx in range(batches):
            callback.on_train_batch_end(trainer, module, None, None, batch_idx)


@pytest.mark.skipif(not GLIBC, reason="only glibc has mallopt and malloc_trim as used here")
def test_freed_memory_is_kept_until_it_is_trimmed() -> None:
    program = """
        import ctypes, json, re
        from pathlib import Path

        import torch

        from ctxzoo.training.allocator import keep_freed_memory

        def resident():
            return int(re.search(r"VmRSS:\\s*(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024

        def grown_after_freeing():
            before = resident()
            tensor = torch.ones(50 * 2**20)  # 200 MiB
            held = resident() - before
            del tensor
            return before, held, resident() - before

        _, _, by_default = grown_after_freeing()
        possible = keep_freed_memory()
        before, held, kept = grown_after_freeing()
        ctypes.CDLL(None).malloc_trim(0)
        print(json.dumps([possible, by_default, held, kept, resident() - before]))
    """
    possible, by_default, held, kept, trimmed = json.loads(run_warm(program, env=offline()).stdout)
    assert possible is True
    assert held > 150
    assert by_default < 50
    assert kept > 150
    assert trimmed < 50


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_another_platform_is_left_alone(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    use(monkeypatch, library, system)
    assert keep_freed_memory() is False
    train(KeepFreedMemory(every=1), "cpu", 3)
    assert library.options == library.trims == []


@pytest.mark.parametrize("missing", ["mallopt", "malloc_trim"])
def test_a_library_without_the_switches_is_left_alone(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    present = {name: getattr(library, name) for name in ("mallopt", "malloc_trim") if name != missing}
    use(monkeypatch, SimpleNamespace(**present))
    assert keep_freed_memory() is False
    train(KeepFreedMemory(every=1), "cpu", 3)
    assert library.options == library.trims == []


def test_a_refused_switch_is_reported_and_nothing_is_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(accepts=False)
    use(monkeypatch, library)
    assert keep_freed_memory() is False
    train(KeepFreedMemory(every=1), "cpu", 3)
    assert library.trims == []


@pytest.mark.parametrize(("every", "batches", "trims"), [(1, 3, 3), (4, 3, 0), (4, 4, 1), (4, 11, 2)])
def test_the_cpu_trims_after_every_so_many_batches(
    every: int, batches: int, trims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    use(monkeypatch, library)
    train(KeepFreedMemory(every), "cpu", batches)
    assert library.options
    assert library.trims == [0] * trims


def test_epochs_shorter_than_that_are_trimmed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    use(monkeypatch, library)
    train(KeepFreedMemory(every=4), "cpu", batches=3, epochs=3)
    assert len(library.trims) == 2


def test_a_process_that_has_grown_trims_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    use(monkeypatch, library)
    # Before training, then after each batch; once more after each trim, which leaves 150 and 260.
    sizes = iter([100, 190, 250, 150, 240, 251, 260, 300])
    monkeypatch.setattr(allocator, "get_resident_bytes", lambda: next(sizes))
    train(KeepFreedMemory(every=50, growth=100), "cpu", batches=5)
    assert len(library.trims) == 2
    assert list(sizes) == []


@pytest.mark.parametrize(
    ("allowed", "growth"), [(0, 4 * 2**30), (2 * 2**30, 2**29), (8 * 2**30, 2 * 2**30), (64 * 2**30, 4 * 2**30)]
)
def test_a_small_machine_trims_earlier(allowed: int, growth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "get_memory_limit_bytes", lambda: allowed)
    assert KeepFreedMemory().growth == growth
    assert KeepFreedMemory(growth=7).growth == 7


@pytest.mark.parametrize("device", ["cuda", "mps", "meta"])
def test_another_device_never_trims(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    use(monkeypatch, library)
    callback = KeepFreedMemory(every=1)
    train(callback, device, 3)
    assert library.options == library.trims == []
    train(callback, "cpu", 2)
    train(callback, device, 3)
    assert len(library.trims) == 2
