"""One process at a time works on a run, and a full disk is told in one line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.training.run_folder import FullDiskError, RunLockedError, lock_run_files, raise_full_disk_errors
from tests.support.doors import offline
from tests.support.warm_python import run_warm

LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""


def test_the_second_is_told_who_has_it_and_the_third_comes_in(tmp_path):
    lock = tmp_path / "lock"
    with lock_run_files(lock, "--output_dir"):
        told = rf"belongs to another run, process {os.getpid()} on \S+ since 20\d\d-.*choose another --output_dir"
        with pytest.raises(RunLockedError, match=told), lock_run_files(lock, "--output_dir"):
            pass
        with pytest.raises(RunLockedError, match=re.escape(str(tmp_path))), lock_run_files(lock, "--output_dir"):
            pass
    with lock_run_files(lock, "--output_dir"):
        pass


def hold(lock: Path, ready: Connection) -> None:
    with lock_run_files(lock, "--output_dir"):
        ready.send("locked")
        time.sleep(600)


def test_a_process_that_is_killed_gives_it_back(tmp_path):
    lock = tmp_path / "lock"
    fork = multiprocessing.get_context("fork")  # which has imported what takes seconds
    here, there = fork.Pipe()
    other = fork.Process(target=hold, args=(lock, there), daemon=True)
    other.start()
    assert here.recv() == "locked"
    with pytest.raises(RunLockedError, match=f"process {other.pid} on "), lock_run_files(lock, "--output_dir"):
        pass
    other.kill()
    other.join()
    with lock_run_files(lock, "--output_dir"):
        assert f'"pid": {os.getpid()}' in lock.with_name("lock.owner").read_text()


def test_other_processes_of_one_training_pass(tmp_path, monkeypatch):
    with lock_run_files(tmp_path / "lock", "--output_dir"):
        monkeypatch.setattr(rank_zero_only, "rank", 1)
        with lock_run_files(tmp_path / "lock", "--output_dir"):
            pass
        monkeypatch.undo()


def fail_behind_another_error() -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError as error:
        raise RuntimeError("unexpected pos 64 vs 0") from error


def test_it_is_known_behind_other_errors(tmp_path):
    told = r"cannot write more below .*No space left.*--resume"
    with pytest.raises(FullDiskError, match=told), raise_full_disk_errors(tmp_path):
        fail_behind_another_error()


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "no such file"), RuntimeError("os error 2"), ValueError("x")])
def test_other_errors_stay_what_they_are(tmp_path, error):
    with pytest.raises(type(error)) as found, raise_full_disk_errors(tmp_path):
        raise error
    assert found.value is error


@pytest.mark.parametrize(
    "write",
    [
        "AtomicCheckpointIO().save_checkpoint({'w': torch.zeros(9999)}, folder / 'last.ckpt')",
        "save_file({'w': torch.zeros(9999)}, folder / 'model.safetensors')",
        "Tokenizer(WordLevel({str(n): n for n in range(9999)}, '0')).save(str(folder / 'tokenizer.json'))",
        "write_atomically(folder / 'result.json', bytes(9999))",
    ],
)
def test_every_writer_of_a_run_is_understood(tmp_path, write):
    (tmp_path / "last.ckpt").write_bytes(b"earlier")
    program = f"""
import torch
from pathlib import Path
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from ctxzoo.data.files import write_atomically
from ctxzoo.training.callbacks import AtomicCheckpointIO
from ctxzoo.training.run_folder import FullDiskError, raise_full_disk_errors
{LIMITED}
folder = Path({str(tmp_path)!r})
try:
    with raise_full_disk_errors(folder):
        {write}
except FullDiskError as error:
    print(error)
"""
    assert "File too large" in run_warm(program, env=offline()).stdout
    assert (tmp_path / "last.ckpt").read_bytes() == b"earlier"
    assert not list(tmp_path.glob(".*"))
    assert not (tmp_path / "result.json").exists()


@pytest.mark.slow
def test_a_training_that_fills_the_disk_goes_on_later(tmp_path):
    program = f"""
from pathlib import Path
import resource, signal
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.run import execute
from ctxzoo.training.run_folder import FullDiskError
from tests.support.classifier_runs import classifier_run
def set_limit(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path({str(tmp_path)!r})
execute(classifier_run(folder))
(last,) = folder.rglob("last.ckpt")
before = last.read_bytes()
class Full(ExperimentRun):
    def build_task(self, *arguments):
        set_limit(len(before) // 2)
        return super().build_task(*arguments)
try:
    execute(Full(**vars(classifier_run(folder, epochs=2))), resume=True)
except FullDiskError as error:
    print("full:", error)
assert last.read_bytes() == before
set_limit(resource.RLIM_INFINITY)
result = execute(classifier_run(folder, epochs=2), resume=True)
print(result.metrics["epochs"], sorted(path.name for path in folder.rglob(".*.tmp")))
"""
    printed = run_warm(program, env=offline()).stdout
    assert "full: cannot write more below" in printed
    assert printed.endswith("2 []\n")
    assert len(list(Path(tmp_path).rglob("*.json"))) > 0
