"""Runs the model suite on every registered architecture."""

from __future__ import annotations

from typing import Any

import pytest

from tests.suite.model_suite import ModelSuite, check_names
from tests.suite.subjects import all_subjects

# Exceptions that the architectures declare today. The number may only fall.
MOST_EXCEPTIONS = 0

SUBJECTS = list(all_subjects())


class TestModels(ModelSuite):
    """Collected here; the checks are in checks_*.py."""


def pytest_generate_tests(metafunc: Any) -> None:
    """`subject`: every head and config; `setting`: every config once; `family`: one subject for each architecture.

    Checks marked `costly` run on one subject of an architecture by default; the others carry the mark `slow`.
    """
    check = metafunc.function
    kind = next((name for name in ("subject", "setting", "family") if name in metafunc.fixturenames), None)
    if kind is None:
        return
    params = []
    for subject in SUBJECTS:
        if kind == "family" and not subject.is_representative:
            continue
        if kind == "setting" and subject.head != subject.case.trained_head:
            continue
        if getattr(check, "heads_only", False) and subject.is_base:
            continue
        if getattr(check, "through_heads", False) and subject.is_base and len(subject.architecture.model_classes) > 1:
            continue
        if getattr(check, "needs_loss", False) and not subject.has_loss:
            continue
        marks = []
        reason = subject.case.not_applicable.get(check.__name__.removeprefix("test_"))
        if reason is not None:
            marks.append(pytest.mark.skip(reason=f"not applicable: {reason}"))
        if getattr(check, "costly", False) and not subject.is_representative:
            marks.append(pytest.mark.slow)
        params.append(pytest.param(subject, id=subject.name, marks=marks))
    metafunc.parametrize(kind, params)


def test_exceptions_are_known_checks_with_reasons_and_do_not_grow(capsys: pytest.CaptureFixture[str]) -> None:
    declared = {(s.architecture.name, check): why for s in SUBJECTS for check, why in s.case.not_applicable.items()}
    with capsys.disabled():
        for (architecture, check), reason in sorted(declared.items()):
            print(f"\nnot applicable to {architecture}: {check}: {reason}")
    for (architecture, check), reason in declared.items():
        assert check in check_names(), f"{architecture} declares an exception from {check!r}, which is no check"
        assert len(reason.split()) >= 3, f"{architecture}, {check}: {reason!r} is not a reason"
    assert len(declared) <= MOST_EXCEPTIONS, "a new exception: make the check pass instead"
    assert len(declared) >= MOST_EXCEPTIONS, f"lower MOST_EXCEPTIONS to {len(declared)}, so that it cannot grow again"


def test_every_registered_head_is_collected() -> None:
    from ctxzoo.models import ARCHITECTURES

    collected = {(s.architecture.name, s.head) for s in SUBJECTS}
    assert collected == {(name, head) for name, known in ARCHITECTURES.items() for head in known.model_classes}


def test_representatives_exist() -> None:
    for subject in SUBJECTS:
        assert subject.case.representative in subject.case.configs()
        assert subject.case.trained_head in subject.architecture.model_classes
