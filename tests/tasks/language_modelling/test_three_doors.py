"""A language model opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from ctxzoo.runs.run import execute
from ctxzoo.tasks.language_modelling.continuation import continue_text
from tests.hub.test_card import python_blocks
from tests.support.doors import offline
from tests.support.warm_python import run_warm
from tests.tasks.language_modelling.test_run import run

COMMAND = """
import runpy, sys
sys.argv = ["ctxzoo", *{arguments!r}]
runpy.run_module("ctxzoo.cli", run_name="__main__")
"""


@pytest.mark.slow
def test_it_opens_in_three_ways(tmp_path: Path) -> None:
    training = run(tmp_path, "bibeta5", epochs=2, learning_rate=0.03)
    execute(training)
    folder = training.spec.checkpoint
    card = (folder / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(folder))
    example, with_package, without_package = python_blocks(card)
    said = with_package.splitlines()[-1].removeprefix("# ")
    assert len(said.split()) >= 3
    for program, hidden in ((with_package, False), (without_package, True)):
        printed = run_warm(f"{example}\n{program}", env=offline(), without_ctxzoo=hidden).stdout
        assert printed.splitlines()[-1] == said

    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForCausalLM, AutoTokenizer))
    arguments = ["predict", str(folder), "--text", "the baker", "--words", "8", "--draw_seed", "3"]
    printed = run_warm(COMMAND.format(arguments=arguments), env=offline()).stdout
    assert printed.strip() == f"the baker {continue_text(model, tokenizer, 'the baker', 8, seed=3)}"
