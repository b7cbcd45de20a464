"""Ways into a checkpoint whose head no Auto class of transformers knows: the package, its own code, the commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hub.test_card import python_blocks
from tests.support.doors import printed_offline, told_offline

WITH_PACKAGE = """
from ctxzoo.models.{module} import {head}
model = {head}.from_pretrained({source!r})
"""
WITHOUT_PACKAGE = """
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module
config = AutoConfig.from_pretrained({source!r}, trust_remote_code=True)
model = get_class_from_dynamic_module(config.auto_map[{head!r}], {source!r}).from_pretrained({source!r})
"""
PRINT = """
import json, sys
print(json.dumps({{"module": type(model).__module__, "found": {found}, "ctxzoo": "ctxzoo" in sys.modules}}))
"""
COMMAND = """
import runpy, sys
sys.argv = ["ctxzoo", *{arguments!r}]
runpy.run_module("ctxzoo.cli", run_name="__main__")
"""


@dataclass(frozen=True)
class HeadDoors:
    """Opens checkpoints of a head.

    Attributes:
        module: Module of the head, below `ctxzoo.models`.
        head: Class of the head.
        found: Python, of `model`: what is asked of it, which JSON can tell.
    """

    module: str
    head: str
    found: str

    def opened(self, folder: Path, packed: Path) -> list[Any]:
        """Return what is found with the package, and without it in the folder that holds the code."""
        answers = []
        for program, source, hidden in ((WITH_PACKAGE, folder, False), (WITHOUT_PACKAGE, packed, True)):
            text = (program + PRINT).format(module=self.module, head=self.head, source=str(source), found=self.found)
            told = told_offline(text, without_ctxzoo=hidden)
            assert told["ctxzoo"] is not hidden
            assert told["module"].startswith("transformers_modules." if hidden else f"ctxzoo.models.{self.module}")
            answers.append(told["found"])
        return answers


def command_output(arguments: list[str]) -> str:
    """Return what `ctxzoo` prints, run in a process of its own."""
    return printed_offline(COMMAND.format(arguments=arguments))


def check_card(folder: Path, packed: Path, without_package: str = "{program}") -> str:
    """Assert that a card says what its programs print, and return it.

    Args:
        folder: Folder of the checkpoint.
        packed: Folder of the same checkpoint that holds the code.
        without_package: The card's program without the package, `{program}`, and what must follow it to print that.
    """
    example, with_package, without = python_blocks((folder / "README.md").read_text(encoding="utf-8"))
    said = with_package.splitlines()[-1].removeprefix("# ")
    without = without_package.replace("{program}", without)
    for program, source, hidden in ((with_package, folder, False), (without, packed, True)):
        named = example.replace("path/to/this/folder", str(source))
        printed = printed_offline(f"{named}\n{program}", without_ctxzoo=hidden)
        assert printed.splitlines()[-1] == said
    return said
