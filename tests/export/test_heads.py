"""Each head under its tiny configs becomes a program that agrees with it at shapes that were not traced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.export.folder import check_agreement, list_outputs
from ctxzoo.export.program import FILES, ONNX, TORCH, compare, open_program, trace, write_program
from ctxzoo.export.task_export import NotExportableError
from ctxzoo.tasks import get_problem
from tests.suite.subjects import Subject, all_subjects

SUBJECTS = [subject for subject in all_subjects() if not subject.is_base]
FAST = ("text_baseline-mean-SequenceClassification",)


def _params() -> list[Any]:
    return [
        pytest.param(subject, id=subject.name, marks=() if subject.name in FAST else pytest.mark.slow)
        for subject in SUBJECTS
    ]


@pytest.mark.parametrize("subject", _params())
def test_programs_agree_with_the_model(subject: Subject, tmp_path: Path) -> None:
    model = subject.model()
    task = get_problem(subject.model_class.zoo_task).load_export()
    if subject.model_class.zoo_task == "regression" and subject.config().vocab_size:
        with pytest.raises(NotExportableError, match="programs are made of models of rows alone"):
            trace(model, task)
        return
    program = trace(model, task)
    lines: list[str] = []
    for kind in (TORCH, ONNX):
        file = tmp_path / FILES[kind]
        write_program(program, file, list_outputs(model, task))
        agreement = check_agreement(file, model, task, lines.append)
        assert agreement.equal >= 0.99 * agreement.decided
    assert len(lines) == 2
    assert "20 shapes that were not traced (at most 0.0001)" in lines[0]


def test_another_model_does_not_agree(tmp_path: Path) -> None:
    subject = next(one for one in SUBJECTS if one.name in FAST)
    task = get_problem(subject.model_class.zoo_task).load_export()
    write_program(trace(subject.model(), task), tmp_path / FILES[TORCH], ["logits"])
    other: Any = subject.model()
    with torch.no_grad():
        other.classifier.bias += 0.01
    found = compare(open_program(tmp_path / FILES[TORCH]), other, task)
    assert found.difference == pytest.approx(0.01, rel=1e-3)
    with pytest.raises(NotExportableError, match="gives other numbers: largest difference"):
        check_agreement(tmp_path / FILES[TORCH], other, task, print)
