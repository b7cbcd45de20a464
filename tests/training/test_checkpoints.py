from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import torch

from ctxzoo.training.checkpoints import AtomicCheckpointIO


def write(path: Path, step: int) -> None:
    AtomicCheckpointIO().save_checkpoint({"global_step": step, "state_dict": {"w": torch.full((1000,), step)}}, path)


def step_of(path: Path) -> int:
    return AtomicCheckpointIO().load_checkpoint(path, weights_only=True)["global_step"]


def test_a_checkpoint_replaces_the_earlier_one(tmp_path):
    path = tmp_path / "new" / "last.ckpt"
    for step in (1, 2):
        write(path, step)
        assert step_of(path) == step
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["save", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_earlier_one_alone(tmp_path, monkeypatch, broken):
    path = tmp_path / "last.ckpt"
    write(path, 1)

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(torch if broken == "save" else os, broken, fail)
        with pytest.raises(OSError, match="No space left"):
            write(path, 2)
    assert step_of(path) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_write_left_is_in_no_ones_way(tmp_path):
    (tmp_path / "last.ckpt.part").write_bytes(b"half")
    write(tmp_path / "last.ckpt", 1)
    assert step_of(tmp_path / "last.ckpt") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]


def test_a_reader_finds_a_whole_file_at_any_time(tmp_path):
    path = tmp_path / "last.ckpt"
    write(path, 0)
    done = threading.Event()

    def keep_writing() -> None:
        for step in range(1, 31):
            write(path, step)
        done.set()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    seen = []
    while not done.is_set():
        seen.append(step_of(path))
    writer.join()
    assert seen == sorted(seen)
    assert step_of(path) == 30
