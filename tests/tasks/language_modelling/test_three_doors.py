"""A language model opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from ctxzoo.runs.run import execute
from ctxzoo.tasks.language_modelling.continuation import continue_text
from tests.support.head_doors import check_card, command_output
from tests.tasks.language_modelling.test_run import run


@pytest.mark.slow
def test_it_opens_in_three_ways(tmp_path: Path) -> None:
    training = run(tmp_path, "bibeta5", epochs=2, learning_rate=0.03)
    execute(training)
    folder = training.checkpoint
    assert len(check_card(folder, folder).split()) >= 3

    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForCausalLM, AutoTokenizer))
    arguments = ["predict", str(folder), "--text", "the baker", "--words", "8", "--draw_seed", "3"]
    printed = command_output(arguments)
    assert printed.strip() == f"the baker {continue_text(model, tokenizer, 'the baker', 8, seed=3)}"
