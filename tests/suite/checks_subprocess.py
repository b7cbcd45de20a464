"""Checkpoints in a fresh process: with ctxzoo imported, and on a machine that does not have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import ctxzoo
from tests.suite.subjects import Subject, named_tensors
from tests.support.doors import offline
from tests.support.warm_python import run_warm

# {load} are the keyword arguments of from_pretrained. Every head is loaded from the one checkpoint, compared with the
# outputs of the parent process, saved again, and loaded from there.
PROGRAM = """
import json
import sys
import torch
import transformers
from safetensors.torch import load_file
{own_class}
batch = load_file("batch.safetensors")
report = {{}}
for head in {heads}:
    auto_class = getattr(transformers, head, None) or own_class(head)
    expected = load_file(f"{{head}}.safetensors")
    folder = "checkpoint"
    for turn in range(2):
        model = auto_class.from_pretrained(folder, {load})
        with torch.no_grad():
            output = model(**batch)
        for name, x in expected.items():
            assert torch.equal(output[name], x), (head, turn, name)
        folder = f"again-{{head}}-{{turn}}"
        model.save_pretrained(folder)
    report[head] = type(model).__module__
report["ctxzoo"] = "ctxzoo" in sys.modules
print("REPORT", json.dumps(report))
"""

# Where transformers has no Auto class of a head's name, the registry or the checkpoint's auto_map names its class.
OF_THE_PACKAGE = """
import ctxzoo

def own_class(head):
    return ctxzoo.ARCHITECTURES[{name!r}].model_classes[head]
"""
OF_THE_CHECKPOINT = """
from transformers.dynamic_module_utils import get_class_from_dynamic_module

def own_class(head):
    with open("checkpoint/config.json", encoding="utf-8") as file:
        return get_class_from_dynamic_module(json.load(file)["auto_map"][head], "checkpoint")
"""


def _run(subject: Subject, folder: Path, *, remote: bool) -> dict[str, str]:
    checkpoint = folder / "checkpoint"
    subject.model().save_pretrained(checkpoint)
    batch = subject.batch()
    save_file({name: x.contiguous() for name, x in batch.items()}, folder / "batch.safetensors")
    heads = []
    for head, model_class in subject.architecture.model_classes.items():
        model, info = model_class.from_pretrained(checkpoint, output_loading_info=True)
        if info["missing_keys"]:
            continue  # a head that this checkpoint does not hold would be drawn anew
        heads.append(head)
        with torch.no_grad():
            outputs = named_tensors(model(**batch))
        # Copies: one output may be a view of another.
        copies = {name: x.clone(memory_format=torch.contiguous_format) for name, x in outputs.items()}
        save_file(copies, folder / f"{head}.safetensors")
    assert subject.head in heads
    code = PROGRAM.format(
        own_class=OF_THE_CHECKPOINT if remote else OF_THE_PACKAGE.format(name=subject.architecture.name),
        heads=heads,
        load="trust_remote_code=True" if remote else "",
    )
    environment = {**offline(), "PYTHONPATH": str(Path(ctxzoo.__file__).parents[1])}
    finished = run_warm(code, env=environment, without_ctxzoo=remote, cwd=folder)
    line = next(line for line in finished.stdout.splitlines() if line.startswith("REPORT "))
    report: dict[str, str] = json.loads(line.removeprefix("REPORT "))
    return report


class SubprocessChecks:
    @pytest.mark.slow
    def test_every_head_loads_where_ctxzoo_is_imported(self, family: Subject, tmp_path: Path) -> None:
        report = _run(family, tmp_path, remote=False)
        assert report.pop("ctxzoo") is True
        assert all(module.startswith("ctxzoo.models.") for module in report.values())

    def test_every_head_loads_where_ctxzoo_is_absent(self, family: Subject, tmp_path: Path) -> None:
        report = _run(family, tmp_path, remote=True)
        assert report.pop("ctxzoo") is False
        assert all(module.startswith("transformers_modules.") for module in report.values())
        sources = Path(ctxzoo.__file__).parent / "models"
        for folder in [tmp_path / "checkpoint", *tmp_path.glob("again-*")]:
            copies = list(folder.glob("*.py"))
            assert copies, (
                f"{folder.name}: saved without its code; a head without Auto class says its own name in `_auto_class`"
            )
            for copy in copies:
                assert copy.read_bytes() == (sources / copy.name).read_bytes(), f"{copy.name} is not the released file"
