"""`torch.compile` gives the same numbers; an exported program runs at sizes it was not traced with."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._inductor.config

from tests.suite.marks import costly, through_heads
from tests.suite.subjects import Subject, assert_same_outputs, gradients, named_tensors

CLOSE = {"rtol": 1e-4, "atol": 1e-6}


def _assert_compiled_equals_eager(
    subject: Subject, backend: str, lengths: Sequence[int], parts: Sequence[str] = ("",)
) -> None:
    torch._dynamo.reset()
    model, partly = subject.model(), subject.model()
    called: list[str] = []
    for part in parts:
        partly.get_submodule(part).compile(backend=backend)
        partly.get_submodule(part).register_forward_hook(lambda *_, part=part: called.append(part))
    batch = subject.batch(lengths, labels=True)
    expected, found = model(**batch), partly(**batch)
    assert set(called) == set(parts)
    assert_same_outputs(named_tensors(found), named_tensors(expected), **CLOSE)
    theirs, ours = gradients(subject.scalar(expected), model), gradients(subject.scalar(found), partly)
    for name, x in theirs.items():
        torch.testing.assert_close(ours[name], x, **CLOSE, msg=lambda text, name=name: f"{name}: {text}")
    torch._dynamo.reset()


def _export(subject: Subject, model: Any) -> torch.export.ExportedProgram:
    batch = subject.batch()
    dynamic = torch.export.Dim.DYNAMIC
    steps = {name for mask, names in subject.case.sequences.items() for name in (mask, *names)}
    shapes = {name: {0: dynamic, 1: dynamic} if name in steps else {0: dynamic} for name in batch}
    # With gradients, as a user calls it, each recurrent layer is traced twice: once for an architecture.
    with torch.set_grad_enabled(subject.is_representative):
        return torch.export.export(model, (), batch, dynamic_shapes=shapes)


class CompilationChecks:
    @costly
    @through_heads
    def test_compiled_equals_eager(self, subject: Subject) -> None:
        # Short: recurrent layers are unrolled, one compiled step for each word.
        _assert_compiled_equals_eager(subject, "aot_eager", (2, 1))

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("g++") is None and shutil.which("clang++") is None, reason="needs a C++ compiler")
    def test_inductor_equals_eager(self, family: Subject) -> None:
        # One process builds the kernels: a pool of them costs more than it saves beside other tests.
        with torch._inductor.config.patch(compile_threads=1):
            _assert_compiled_equals_eager(family, "inductor", (3, 1, 2), family.case.built)

    @pytest.mark.slow
    @through_heads
    def test_exported_program_runs_at_other_sizes(self, subject: Subject, tmp_path: Path) -> None:
        model = subject.model()
        exported = _export(subject, model)
        if subject.is_representative:  # what is saved is of every config and head the same kind of program
            torch.export.save(exported, tmp_path / "model.pt2")
            exported = torch.export.load(tmp_path / "model.pt2")
        program = exported.module()
        # Traced with three rows of up to seven steps.
        for lengths in ((12, 3, 1, 9, 5), (1,), (20, 2)):
            batch = subject.batch(lengths, seed=3)
            assert_same_outputs(named_tensors(program(**batch)), named_tensors(model(**batch)), **CLOSE)
