"""Two runs of one name: the second is told who has the files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.training.run_lock import RunLockedError, locked_run
from tests.support.subprocesses import REPOSITORY_ROOT

HOLD = """
import sys, time
from pathlib import Path
from ctxzoo.training.run_lock import locked_run
with locked_run(Path(sys.argv[1]), "--output_dir"):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_the_second_is_told_who_has_it_and_the_third_comes_in(tmp_path):
    lock = tmp_path / "lock"
    with locked_run(lock, "--output_dir"):
        told = rf"belongs to another run, process {os.getpid()} on \S+ since 20\d\d-.*choose another --output_dir"
        with pytest.raises(RunLockedError, match=told), locked_run(lock, "--output_dir"):
            pass
        with pytest.raises(RunLockedError, match=re.escape(str(tmp_path))), locked_run(lock, "--output_dir"):
            pass
    with locked_run(lock, "--output_dir"):
        pass


def test_a_process_that_is_killed_gives_it_back(tmp_path):
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], cwd=REPOSITORY_ROOT, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(RunLockedError, match=f"process {other.pid} on "), locked_run(lock, "--output_dir"):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        with locked_run(lock, "--output_dir"):
            assert f'"pid": {os.getpid()}' in lock.with_name("lock.owner").read_text()


def test_other_processes_of_one_training_pass(tmp_path, monkeypatch):
    with locked_run(tmp_path / "lock", "--output_dir"):
        monkeypatch.setattr(rank_zero_only, "rank", 1)
        with locked_run(tmp_path / "lock", "--output_dir"):
            pass
        monkeypatch.undo()
