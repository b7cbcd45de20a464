"""`make test` is a selection of the tests: what it promises to keep, and that no test falls between the selections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from ctxzoo.models import ARCHITECTURES
from tests.suite.subjects import Subject
from tests.support.subprocesses import REPOSITORY_ROOT

MAKEFILE = (REPOSITORY_ROOT / "Makefile").read_text(encoding="utf-8")
SUITE = REPOSITORY_ROOT / "tests" / "suite" / "test_models.py"
# Checks that are slow for every architecture, and the check that stands for them in the selection.
SLOW_EVERYWHERE = {
    "inductor_equals_eager": "compiled_equals_eager",  # inductor has a C++ compiler build every kernel
    "exported_program_runs_at_other_sizes": "compiled_equals_eager",  # both trace the model
    "every_head_loads_where_ctxzoo_is_imported": "every_head_loads_where_ctxzoo_is_absent",
}


def selection(target: str) -> str:
    """The mark expression with which a target of the Makefile calls pytest."""
    (expression,) = re.findall(rf'^{target}:.*\n\t\$\(PYTEST\) -m "?([^"\n]+)"?$', MAKEFILE, flags=re.MULTILINE)
    return str(expression)


class Collected:
    """A pytest plugin that keeps what was collected and selected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)


def checks(*arguments: str) -> set[tuple[str, str]]:
    """Architecture and check of each test of the shared suite that pytest, called so, would run."""
    plugin = Collected()
    code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *arguments, str(SUITE)], plugins=[plugin])
    assert code == pytest.ExitCode.OK
    return set(_checks(plugin.items))


def _checks(items: list[pytest.Item]) -> Iterator[tuple[str, str]]:
    for item in items:
        if isinstance(item, pytest.Function) and item.cls is not None:
            (subject,) = (x for x in item.callspec.params.values() if isinstance(x, Subject))
            yield subject.architecture.name, item.originalname.removeprefix("test_")


def test_each_test_is_in_exactly_one_selection() -> None:
    expressions = [selection(target) for target in ("test", "slow", "data", "browser")]
    for slow, data, browser in product((False, True), repeat=3):
        marks = {"slow": slow, "data": data, "browser": browser}
        assert [bool(eval(x, {}, marks)) for x in expressions].count(True) == 1, f"{marks} among {expressions}"


def test_every_check_runs_for_every_architecture() -> None:
    every = checks()
    assert {architecture for architecture, _ in every} == set(ARCHITECTURES)
    selected = checks("-m", selection("test"))
    assert selected >= {(architecture, check) for architecture in ARCHITECTURES for check in SLOW_EVERYWHERE.values()}
    assert every - selected == {(architecture, check) for architecture, check in every if check in SLOW_EVERYWHERE}
