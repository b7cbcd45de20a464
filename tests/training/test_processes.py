"""Jobs in processes: every result comes back, errors end the rest, and a fresh interpreter runs them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from ctxzoo.training.processes import run_in_processes


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


def test_an_error_drops_the_jobs_that_have_not_begun(tmp_path: Path) -> None:
    jobs = [(number, str(tmp_path)) for number in range(1, 12)]
    with pytest.raises(ValueError, match="job 1 failed"):
        list(run_in_processes(fail_at_one, jobs, 2))
    assert len(list(tmp_path.iterdir())) < 8


@pytest.mark.parametrize(("processes", "threads"), [(0, 1), (1, 0)])
def test_at_least_one(processes: int, threads: int) -> None:
    with pytest.raises(ValueError, match=f"processes={processes}, threads={threads}"):
        list(run_in_processes(square, [1], processes, threads))
