"""The end of a program that has trained with others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import atexit, sys
import torch.distributed as dist
from ctxzoo.training.process_group import leave_group, leave_group_at_exit

leave_group()  # nothing to leave
atexit.register(lambda: print("left" if not dist.is_initialized() else "still in it"))  # runs last
leave_group_at_exit()
leave_group_at_exit()
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
assert dist.is_initialized()
"""


def test_the_group_is_left_before_the_interpreter_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (finished.returncode, finished.stdout.strip()) == (0, "left"), finished.stderr
