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
from ctxzoo.tasks.polyphonic_music.rolls import KEYS
from tests.suite.subjects import Subject, all_subjects

SUBJECTS = [subject for subject in all_subjects() if not subject.is_base]
# Configs of which torch makes programs, and ONNX none: the operation that it lacks.
NOT_IN_ONNX = {"beta_lstm-kumaraswamy": "lgamma"}  # in the mean of a Kumaraswamy variable
FAST = ("text_baseline-mean-SequenceClassification",)


def _model(subject: Subject) -> Any:
    """The subject's model; those of rolls and rows read numbers, as their checkpoints do, not the case's words."""
    problem = subject.model_class.zoo_task
    if problem not in ("polyphonic-music", "regression"):
        return subject.model()
    config: Any = subject.config()
    config.vocab_size, config.pad_token_id, config.position_dim = 0, None, 0
    if problem == "polyphonic-music":
        config.input_size = config.num_labels = KEYS
    torch.manual_seed(0)
    return subject.case.leave_the_start(subject.model_class(config)).eval()


def _is_in_onnx(subject: Subject) -> bool:
    """Whether a subject stands for its head: with the representative config, or the first of a head without it."""
    configs = [one.config_name for one in SUBJECTS if one.model_class is subject.model_class]
    representative = subject.case.representative
    return subject.config_name == (representative if representative in configs else configs[0])


def _params() -> list[Any]:
    return [
        pytest.param(subject, id=subject.name, marks=() if subject.name in FAST else pytest.mark.slow)
        for subject in SUBJECTS
    ]


@pytest.mark.parametrize("subject", _params())
def test_programs_agree_with_the_model(subject: Subject, tmp_path: Path) -> None:
    """ONNX of one config of each head, the representative one if the head has it, and torch's program of the others."""
    model = _model(subject)
    task = get_problem(subject.model_class.zoo_task).load_export()
    program, names = trace(model, task), list_outputs(model, task)
    file = tmp_path / FILES[ONNX if _is_in_onnx(subject) else TORCH]
    write_program(program, file, names)
    lines: list[str] = []
    agreement = check_agreement(file, model, task, lines.append)
    assert agreement.equal >= 0.99 * agreement.decided
    assert "20 shapes that were not traced (at most 0.0001)" in lines[0]
    if reason := NOT_IN_ONNX.get(f"{subject.architecture.name}-{subject.config_name}"):
        with pytest.raises(NotExportableError, match=f"ONNX does not take this model .*{reason}.*take --format torch"):
            write_program(program, tmp_path / FILES[ONNX], names)


def test_a_regression_on_words_is_refused() -> None:
    subject = next(one for one in SUBJECTS if one.model_class.zoo_task == "regression")
    with pytest.raises(NotExportableError, match="programs are made of models of rows alone"):
        trace(subject.model(), get_problem("regression").load_export())


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
