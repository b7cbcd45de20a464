"""Which check runs on which subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.suite.subjects import Subject


def hand_out(metafunc: Any, subjects: Sequence[Subject]) -> None:
    """Parametrize a check of the suite, for `pytest_generate_tests`.

    `subject`: every head and config; `setting`: every config once; `family`: one subject for each architecture. Checks
    marked `costly` run on one subject of an architecture by default; the others carry the mark `slow`.
    """
    check = metafunc.function
    kind = next((name for name in ("subject", "setting", "family") if name in metafunc.fixturenames), None)
    if kind is None:
        return
    params = []
    for subject in subjects:
        if not _fits(check, kind, subject):
            continue
        marks = []
        reason = subject.case.not_applicable.get(check.__name__.removeprefix("test_"))
        if reason is not None:
            marks.append(pytest.mark.skip(reason=f"not applicable: {reason}"))
        if getattr(check, "costly", False) and not subject.is_representative:
            marks.append(pytest.mark.slow)
        params.append(pytest.param(subject, id=subject.name, marks=marks))
    metafunc.parametrize(kind, params)


def _fits(check: Any, kind: str, subject: Subject) -> bool:
    of_kind = {
        "subject": lambda: True,
        "setting": lambda: subject.head == subject.case.trained_head,
        "family": lambda: subject.is_representative,
    }
    # Asked for only where a check is marked so: whether there is a loss takes a batch to find out.
    needed = {
        "needs_base": lambda: subject.has_base,
        "needs_loss": lambda: subject.has_loss,
        "needs_sequences": lambda: bool(subject.case.sequences),
        "through_heads": lambda: not (subject.is_base and len(subject.architecture.model_classes) > 1),
    }
    return of_kind[kind]() and all(holds() for mark, holds in needed.items() if getattr(check, mark, False))
