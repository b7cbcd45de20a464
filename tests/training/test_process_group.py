"""The end of a program that has trained with others."""

from __future__ import annotations

from pathlib import Path

from tests.support.doors import offline
from tests.support.warm_python import run_warm

PROGRAM = """
import atexit
import torch.distributed as dist
from ctxzoo.training.process_group import destroy_process_group, destroy_process_group_at_exit

destroy_process_group()  # nothing to leave
atexit.register(lambda: print("left" if not dist.is_initialized() else "still in it"))  # runs last
destroy_process_group_at_exit()
destroy_process_group_at_exit()
dist.init_process_group("gloo", init_method="file://STORE", rank=0, world_size=1)
assert dist.is_initialized()
"""


def test_the_group_is_left_before_the_interpreter_ends(tmp_path: Path) -> None:
    assert run_warm(PROGRAM.replace("STORE", str(tmp_path / "store")), env=offline()).stdout == "left\n"
