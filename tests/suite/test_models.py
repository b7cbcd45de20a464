"""Runs the model suite on every registered architecture."""

from __future__ import annotations

from typing import Any

import pytest

from tests.suite.collection import hand_out
from tests.suite.model_suite import ModelSuite, check_names
from tests.suite.subjects import all_subjects

# Exceptions that the architectures declare today. The number may only fall.
MOST_EXCEPTIONS = 0

SUBJECTS = list(all_subjects())


class TestModels(ModelSuite):
    """Collected here; the checks are in checks_*.py."""


def pytest_generate_tests(metafunc: Any) -> None:
    hand_out(metafunc, SUBJECTS)


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
