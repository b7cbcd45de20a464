"""A recommender's checkpoint opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.renew import renew
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.results.result import write_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.session_recommendation import recommend
from tests.hub.test_card import python_blocks
from tests.support.doors import offline
from tests.support.subprocesses import run_python
from tests.tasks.session_recommendation.test_run import run

HISTORY, LISTED = [1, 2, 3], 5
WITH_PACKAGE = """
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
model = HcrnnForNextItem.from_pretrained({source!r})
"""
WITHOUT_PACKAGE = """
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module
config = AutoConfig.from_pretrained({source!r}, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForNextItem"))
model = get_class_from_dynamic_module(head, {source!r}).from_pretrained({source!r})
"""
PRINT = """
import json, sys
found = model.recommend({history}, {listed})
print(json.dumps({{"module": type(model).__module__, "found": found, "ctxzoo": "ctxzoo" in sys.modules}}))
"""
COMMAND = """
import runpy, sys
sys.argv = ["ctxzoo", *{arguments!r}]
runpy.run_module("ctxzoo.cli", run_name="__main__")
"""


def open_with(program: str, source: Path, home: Path, without_ctxzoo: bool) -> dict[str, Any]:
    """What a program that loads the checkpoint prints of its model."""
    text = program.format(source=str(source)) + PRINT.format(history=HISTORY, listed=LISTED)
    printed = run_python(text, env=offline(home), without_ctxzoo=without_ctxzoo).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


def check_doors(folder: Path, home: Path) -> None:
    """Each door recommends what the model recommends here, and the card says what its programs print."""
    expected = recommend(folder, HISTORY, LISTED)
    package = open_with(WITH_PACKAGE, folder, home, without_ctxzoo=False)
    remote = open_with(WITHOUT_PACKAGE, folder, home, without_ctxzoo=True)
    for door in (package, remote):
        assert [name for name, _ in door["found"]] == [name for name, _ in expected]
        assert [value for _, value in door["found"]] == pytest.approx([value for _, value in expected], rel=1e-5)
    assert (package["module"], package["ctxzoo"]) == ("ctxzoo.models.modeling_hcrnn", True)
    assert remote["module"].startswith("transformers_modules.")
    assert remote["ctxzoo"] is False

    rows, out = home / "events.csv", home / "out.json"
    names = [name for name, _ in recommend(folder, HISTORY, LISTED)]
    rows.write_text("user,item,time\n" + "\n".join(f"a,{name},{time}" for time, name in enumerate(names)))
    arguments = ["predict", str(folder), "--file", str(rows), "--output", str(out), "--top", str(LISTED)]
    run_python(COMMAND.format(arguments=arguments), env=offline(home))
    (told,) = json.loads(out.read_text())
    assert [name for name, _ in told["recommended"]] == [name for name, _ in recommend(folder, names, LISTED)]

    card = (folder / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(folder))
    example, with_package, without_package = python_blocks(card)
    said = with_package.splitlines()[-1].removeprefix("# ")
    for program, hidden in ((with_package, False), (without_package, True)):
        printed = run_python(f"{example}\n{program}", env=offline(home), without_ctxzoo=hidden).stdout
        assert printed.splitlines()[-1] == said


@pytest.mark.slow
def test_it_opens_in_three_ways(tmp_path: Path) -> None:
    training = run(tmp_path, learning_rate=0.02)
    result = execute(training)
    renew(tmp_path / "sessions", training.spec.checkpoint, write_result(result, tmp_path / "told"))
    assert not [name for name in check_checkpoint_folder(tmp_path / "sessions") if "token" in name]
    check_doors(tmp_path / "sessions", tmp_path)
