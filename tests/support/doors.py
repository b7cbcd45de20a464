"""The three ways into a checkpoint, each as a program that prints what it read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.hub.folder_files import has_packed_code
from ctxzoo.hub.packing import pack
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer
from tests.support.warm_python import WITHOUT_HUB, run_warm

_MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForQuestionAnswering, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
model = AutoModelForQuestionAnswering.from_pretrained({source!r}, **options)
with torch.no_grad():
    outputs = model(**tokenizer({question!r}, {context!r}, return_tensors="pt"))
logits = [outputs.start_logits[0].tolist(), outputs.end_logits[0].tolist()]
print(json.dumps({{"module": type(model).__module__, "logits": logits, "ctxzoo": "ctxzoo" in sys.modules}}))
"""

_PIPELINE = """
import json, sys
from transformers import pipeline
reader = pipeline("question-answering", model={source!r}, trust_remote_code=True)
answer = reader(question={question!r}, context={context!r})
print(json.dumps({{"module": type(reader).__module__, "answer": answer, "ctxzoo": "ctxzoo" in sys.modules}}))
"""


def open_all(source: str, env: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return what each door gives for a folder or Hub id: "package", "remote" and "pipeline"."""
    texts = {"source": source, "question": QUESTION, "context": CONTEXT}
    programs = {
        "package": _MODEL.format(first="import ctxzoo", options="{}", **texts),
        "remote": _MODEL.format(first="", options='{"trust_remote_code": True}', **texts),
        "pipeline": _PIPELINE.format(**texts),
    }
    return {
        door: json.loads(run_warm(program, env=env, without_ctxzoo=door != "package").stdout.splitlines()[-1])
        for door, program in programs.items()
    }


def assert_same_as_here(found: dict[str, dict[str, Any]], seed: int = 2) -> None:
    """Each door gives what model and tokenizer give in this process, through the code it should."""
    model, tokenizer = tiny_model(seed), tiny_tokenizer()
    with torch.no_grad():
        outputs = model(**tokenizer(QUESTION, CONTEXT, return_tensors="pt"))
    # Equal but for the last bit, which may depend on how weights are aligned in memory; weights from a file are aligned
    # as they are there.
    logits = [pytest.approx(x[0].tolist(), rel=1e-5, abs=1e-6) for x in (outputs.start_logits, outputs.end_logits)]
    assert found["package"]["module"] == "ctxzoo.models.modeling_bidaf"
    assert found["package"]["ctxzoo"] is True
    assert found["package"]["logits"] == logits
    assert found["remote"]["logits"] == found["package"]["logits"]
    answer, expected = found["pipeline"]["answer"], ask(model, tokenizer)
    for name, value in answer.items():
        close = isinstance(value, float)
        assert value == (pytest.approx(expected[name], rel=1e-5, abs=1e-6) if close else expected[name]), name
    assert answer["answer"]
    for door in ("remote", "pipeline"):
        assert found[door]["ctxzoo"] is False
        assert found[door]["module"].startswith("transformers_modules.")


def packed_form(folder: Path, scratch: Path) -> Path:
    """Return a checkpoint folder that holds its code: the folder itself, or one that is packed below `scratch`."""
    if has_packed_code(folder):
        return folder
    packed = scratch / "packed" / folder.name
    pack(folder, packed)
    return packed


def offline() -> dict[str, str]:
    """An environment without the Hub and without what this process has cached, one for all tests.

    What transformers keeps of the code of checkpoints is told apart by its content.
    """
    return {"PATH": "", **WITHOUT_HUB}


def printed_offline(program: str, *, without_ctxzoo: bool = False) -> str:
    """Return what a program prints in the environment of `offline`, in a process of its own."""
    return run_warm(program, env=offline(), without_ctxzoo=without_ctxzoo).stdout


def told_offline(program: str, *, without_ctxzoo: bool = False) -> Any:
    """Return what the last line that it prints says in JSON."""
    return json.loads(printed_offline(program, without_ctxzoo=without_ctxzoo).splitlines()[-1])
