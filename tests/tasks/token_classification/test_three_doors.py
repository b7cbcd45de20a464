"""A tagger's checkpoint opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from tests.hub.test_card import python_blocks
from tests.support.doors import packed_form, printed_offline, told_offline
from tests.support.head_doors import command_output

TEXTS = ["she closed the old door .", "rain"]
MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForTokenClassification, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
model = AutoModelForTokenClassification.from_pretrained({source!r}, **options)
with torch.no_grad():
    logits = model(**tokenizer({texts!r}, padding=True, return_tensors="pt")).logits
print(json.dumps({{"module": type(model).__module__, "result": logits.tolist(), "ctxzoo": "ctxzoo" in sys.modules}}))
"""


def open_with(source: Path, first: str = "", options: str = "{}") -> dict[str, Any]:
    """What a program that loads the checkpoint prints of its model; without `first` ctxzoo cannot be imported."""
    program = MODEL.format(first=first, options=options, source=str(source), texts=TEXTS)
    found: dict[str, Any] = told_offline(program, without_ctxzoo=not first)
    return found


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door gives what the model gives here, and the card says what its programs print."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    with torch.no_grad():
        logits = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    packed = packed_form(folder, scratch)
    package = open_with(folder, "import ctxzoo")
    remote = open_with(packed, options='{"trust_remote_code": True}')
    torch.testing.assert_close(torch.tensor(package["result"]), logits)
    assert remote["result"] == package["result"]
    assert (package["module"], package["ctxzoo"]) == ("ctxzoo.models.modeling_bilstm_tagger", True)
    assert remote["module"].startswith("transformers_modules.")
    assert remote["ctxzoo"] is False

    words = TEXTS[0].split()
    tags = [model.config.id2label[tag] for tag in logits[0, : len(words)].argmax(dim=1).tolist()]
    here = pipeline("token-classification", model=str(folder))(TEXTS[0], ignore_labels=[])
    assert [(word["word"], word["entity"]) for word in here] == list(zip(words, tags, strict=True))
    printed = command_output(["predict", str(folder), "--text", TEXTS[0]])
    lines = [line for line in printed.splitlines() if line.strip()]
    assert all(word in line and tag in line for word, tag, line in zip(words, tags, lines, strict=True))

    example, with_package, _, as_pipeline = python_blocks((folder / "README.md").read_text(encoding="utf-8"))
    said = as_pipeline.splitlines()[-1].removeprefix("# ")
    for program, source, hidden in ((with_package, folder, False), (as_pipeline, packed, True)):
        named = example.replace("path/to/this/folder", str(source))
        printed = printed_offline(f"{named}\n{program}", without_ctxzoo=hidden)
        assert printed.splitlines()[-1] == said


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["paper", "default"])
def test_it_opens_in_three_ways(tmp_path: Path, settings: str) -> None:
    check_doors(tagger_folder(tmp_path, settings), tmp_path)


def tagger_folder(folder: Path, settings: str) -> Path:
    """A checkpoint of a short training on generated sentences."""
    from ctxzoo.runs.run import execute
    from ctxzoo.runs.train import ExperimentRun
    from ctxzoo.tasks.token_classification.experiments import set_corpus
    from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION

    places = {"output_dir": str(folder / "runs"), "results_dir": str(folder / "results"), "tensorboard": False}
    experiment: Any = TOKEN_CLASSIFICATION.get_settings(settings, *TOKEN_CLASSIFICATION.default).copy_with(
        epochs=1, recipe="trial", commit="0123abc", progress=False, **places
    )
    vectors = experiment.start.word_vectors
    run = ExperimentRun(TOKEN_CLASSIFICATION, set_corpus(experiment, "sample", vectors))
    execute(run)
    return run.checkpoint
