"""The model suite takes an architecture without sequences, base model, Auto class and tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.suite.checks_subprocess import SubprocessChecks
from tests.suite.collection import hand_out
from tests.suite.model_suite import ModelSuite, check_names
from tests.suite.subjects import Subject
from tests.support.rating.case import HEAD, RATING_ARCHITECTURE, RatingCase
from tests.support.rating.run import registered_rating

RATING = Subject(RATING_ARCHITECTURE, RatingCase(), "tiny", HEAD)
OF_ELSEWHERE = {name for name in dir(SubprocessChecks) if name.startswith("test_")}  # its code is not of the package
OF_SEQUENCES = {"longer_padding_changes_nothing", "what_is_no_number_at_padding_changes_nothing"}


class TestRating(ModelSuite):
    """Collected here; the checks are in checks_*.py."""


for name, check in [(name, getattr(ModelSuite, name)) for name in dir(ModelSuite)]:
    if name in OF_ELSEWHERE or getattr(check, "needs_sequences", False) or getattr(check, "needs_base", False):
        setattr(TestRating, name, None)


@pytest.fixture(autouse=True, scope="module")
def rating() -> Iterator[None]:
    with registered_rating():
        yield


def pytest_generate_tests(metafunc: Any) -> None:
    hand_out(metafunc, [RATING])


def test_padding_is_asked_of_sequences_alone() -> None:
    assert check_names() >= OF_SEQUENCES
    for name in OF_SEQUENCES:
        assert getattr(ModelSuite, f"test_{name}").needs_sequences
