"""The model suite takes an architecture that is written by docs/adding_an_architecture.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.suite.checks_subprocess import SubprocessChecks
from tests.suite.collection import hand_out
from tests.suite.model_suite import ModelSuite
from tests.suite.subjects import Subject
from tests.support.toy.case import CASE, TOY
from tests.support.toy.package import registered

SUBJECTS = [Subject(TOY, CASE, config, head) for config in CASE.configs() for head in TOY.model_classes]


@pytest.mark.slow
class TestToy(ModelSuite):
    """Collected here; the checks are in checks_*.py."""


for name in dir(SubprocessChecks):
    if name.startswith("test_"):  # its code is not of the package; tests/models/test_another_architecture.py has both
        setattr(TestToy, name, None)


@pytest.fixture(autouse=True, scope="module")
def toy() -> Iterator[None]:
    with registered(TOY.config_class, TOY.model_classes):
        yield


def pytest_generate_tests(metafunc: Any) -> None:
    hand_out(metafunc, SUBJECTS)
