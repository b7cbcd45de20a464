"""A checkpoint of votes opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.tasks.vote_prediction import predict_votes
from tests.hub.test_card import python_blocks
from tests.support.doors import offline
from tests.support.subprocesses import run_python

TEXT = "A bill to provide for the repair of roads and bridges, and for other purposes."
WITH_PACKAGE = """
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
model = NipenForVotePrediction.from_pretrained({source!r})
"""
WITHOUT_PACKAGE = """
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module
config = AutoConfig.from_pretrained({source!r}, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForVotePrediction"))
model = get_class_from_dynamic_module(head, {source!r}).from_pretrained({source!r})
"""
PRINT = """
import json, sys
votes = {{"new": model.predict_votes({text!r}), "known": model.predict_votes("", 0)}}
print(json.dumps({{"module": type(model).__module__, "votes": votes, "ctxzoo": "ctxzoo" in sys.modules}}))
"""
COMMAND = """
import runpy, sys
sys.argv = ["ctxzoo", *{arguments!r}]
runpy.run_module("ctxzoo.cli", run_name="__main__")
"""


def open_with(program: str, source: Path, home: Path, without_ctxzoo: bool) -> dict[str, Any]:
    """What a program that loads the checkpoint prints of its model."""
    text = program.format(source=str(source)) + PRINT.format(text=TEXT)
    printed = run_python(text, env=offline(home), without_ctxzoo=without_ctxzoo).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


def same(found: list[list[Any]], wanted: list[tuple[str, float]]) -> bool:
    """Whether the same legislators stand there, with the same probabilities."""
    named = [name for name, _ in found] == [name for name, _ in wanted]
    return named and [yea for _, yea in found] == pytest.approx([yea for _, yea in wanted], rel=1e-4)


def check_doors(folder: Path, home: Path) -> None:
    """Each door predicts what the model predicts here, and the card says what its programs print."""
    new, known = predict_votes(folder, TEXT), predict_votes(folder, "", 0)
    assert len({round(yea, 3) for _, yea in new}) > 1
    package = open_with(WITH_PACKAGE, folder, home, without_ctxzoo=False)
    remote = open_with(WITHOUT_PACKAGE, folder, home, without_ctxzoo=True)
    for door in (package, remote):
        assert same(door["votes"]["new"], new)
        assert same(door["votes"]["known"], known)
    assert (package["module"], package["ctxzoo"]) == ("ctxzoo.models.modeling_nipen", True)
    assert remote["module"].startswith("transformers_modules.")
    assert remote["ctxzoo"] is False

    command = COMMAND.format(arguments=["predict", str(folder), "--text", TEXT])
    printed = run_python(command, env=offline(home)).stdout.splitlines()
    assert printed[-len(new) :] == [f"{yea:.4f}  {name}" for name, yea in new]

    card = (folder / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(folder))
    example, with_package, without_package = python_blocks(card)
    said = with_package.splitlines()[-1].removeprefix("# ")
    for program, hidden in ((with_package, False), (without_package, True)):
        printed = run_python(f"{example}\n{program}", env=offline(home), without_ctxzoo=hidden).stdout.splitlines()
        assert printed[-1] == said
