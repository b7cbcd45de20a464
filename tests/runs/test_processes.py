"""Jobs in processes: every result comes back, errors end the rest, and a fresh interpreter runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, wait
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.runs import processes
from ctxzoo.runs.processes import SharedWork, run_in_processes
from tests.support.subprocesses import REPOSITORY_ROOT


def square(number: int) -> tuple[int, int, int]:
    return number**2, os.getpid(), torch.get_num_threads()


def fail_at_one(job: tuple[int, str]) -> int:
    number, folder = job
    if number == 1:
        raise ValueError("job 1 failed")
    time.sleep(0.2)
    (Path(folder) / str(number)).touch()
    return number


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_is_done(processes: int) -> None:
    before = torch.get_num_threads()
    try:
        found = dict(run_in_processes(square, [3, 4, 5], processes))
    finally:
        torch.set_num_threads(before)
    assert {job: result[0] for job, result in found.items()} == {3: 9, 4: 16, 5: 25}
    assert {result[2] for result in found.values()} == {1}
    pids = {result[1] for result in found.values()}
    assert (pids == {os.getpid()}) == (processes == 1)


@pytest.mark.slow
def test_an_error_drops_the_jobs_that_have_not_begun(tmp_path: Path) -> None:
    jobs = [(number, str(tmp_path)) for number in range(1, 12)]
    with pytest.raises(ValueError, match="job 1 failed"):
        list(run_in_processes(fail_at_one, jobs, 2))
    # One may have been running; what the pool had handed out already does not begin.
    assert len(list(tmp_path.iterdir())) <= 1


@pytest.mark.slow
def test_the_error_is_raised_though_jobs_that_it_dropped_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dropped_first(futures: Any) -> list[Any]:
        return sorted(wait(futures).done, key=lambda one: not isinstance(one.exception(), CancelledError))

    monkeypatch.setattr(processes, "as_completed", dropped_first)
    with pytest.raises(ValueError, match="job 1 failed"):
        list(run_in_processes(fail_at_one, [(number, str(tmp_path)) for number in range(1, 12)], 2))


PROGRAM = """
import sys, time
from pathlib import Path
from ctxzoo.runs.processes import SharedWork, run_in_processes

def work(number):
    Path(sys.argv[1], str(number)).touch()
    time.sleep(60)

if __name__ == "__main__":
    try:
        list(run_in_processes(work, range(8), 2))
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.slow
@pytest.mark.parametrize("started", [0, 2])
def test_ctrl_c_ends_everything_soon(tmp_path: Path, started: int) -> None:
    """While the processes import, and while they work."""
    process, folder = _start(tmp_path, started)
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert printed == "stopped\n"
    assert "Traceback" not in errors
    assert len(list(folder.iterdir())) == started


def test_killed_it_takes_its_processes_along(tmp_path: Path) -> None:
    process, _ = _start(tmp_path, 2)
    process.kill()
    process.communicate(timeout=30)  # until the last of them has let go of the pipes; their jobs take a minute


def _start(tmp_path: Path, started: int) -> tuple[subprocess.Popen[str], Path]:
    """Run the program until so many jobs have begun; 0: until its processes import."""
    (tmp_path / "program.py").write_text(PROGRAM)
    folder = tmp_path / "begun"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY_ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (
        len(list(folder.iterdir())) == started if started else _children(process.pid)
    ):
        time.sleep(0.05)
    time.sleep(0.3)
    return process, folder


def _children(pid: int) -> bool:
    """Whether the two workers (and the resource tracker beside them) have been started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return len(found.stdout.split()) >= 3


@pytest.mark.parametrize(("processes", "threads"), [(0, 1), (1, 0)])
def test_at_least_one(processes: int, threads: int) -> None:
    with pytest.raises(ValueError, match=f"processes={processes}, threads={threads}"):
        list(run_in_processes(square, [1], processes, threads))


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux alone")


@on_linux
@pytest.mark.parametrize("processes", [1, 3])
def test_parts_of_a_list_are_shared_and_come_back_in_order(processes: int) -> None:
    offset, threads = 100, torch.get_num_threads()

    def add(numbers: Any) -> list[Any]:  # no process could import it
        return [(number + offset, os.getpid(), torch.get_num_threads()) for number in numbers]

    share = SharedWork(add, processes)
    pids = set()
    for length in (7, 2, 0, 9):
        found = share(range(length))
        assert [number for number, _, _ in found] == list(range(100, 100 + length))
        assert processes == 1 or {count for *_, count in found} <= {1}
        pids |= {pid for _, pid, _ in found}
    assert os.getpid() in pids
    assert len(pids) <= processes
    assert (len(pids) > 1) == (processes > 1)
    assert torch.get_num_threads() == threads


@on_linux
@pytest.mark.parametrize("bad", [0, 5])
def test_an_error_of_any_part_is_raised(bad: int) -> None:
    def fail(numbers: Any) -> list[Any]:
        if bad in numbers:
            raise ValueError(f"{bad} is bad")
        return list(numbers)

    share = SharedWork(fail, 2)
    with pytest.raises(ValueError, match=f"{bad} is bad"):
        share(range(6))
    assert share([1, 2]) == [1, 2]


@on_linux
def test_a_copy_that_was_killed_is_told() -> None:
    here = os.getpid()
    share = SharedWork(lambda numbers: [os.getpid() == here or os.kill(os.getpid(), signal.SIGKILL)], 2)
    for _ in range(2):
        with pytest.raises(ChildProcessError, match="most often for want of memory"):
            share([1, 2])


@on_linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_copies_end_with_their_parent_and_on_ctrl_c(how: signal.Signals) -> None:
    code = """
import os, time
from ctxzoo.runs.processes import SharedWork
def work(entries):
    os.write(1, b"%d\\n" % os.getpid())  # at once: two processes write to it
    time.sleep(60)
SharedWork(work, 2)([1, 2])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        cwd=REPOSITORY_ROOT,
    )
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        os.kill(process.pid, how)
    process.stdout.read()  # until both have ended
    # Ctrl-C can also reach an interpreter that is ending: 1 was seen once, on a busy machine.
    assert process.wait() in ({-how, 1} if how == signal.SIGINT else {-how})
    assert process.pid in pids
