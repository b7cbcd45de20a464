"""The first example of every page of docs/models runs as it is copied: in an empty folder, without a network."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.warm_python import WITHOUT_HUB, run_warm

PAGES = sorted(path for path in (REPOSITORY_ROOT / "docs" / "models").glob("*.md") if path.name != "README.md")
CODE = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
MOST_LINES = 6  # with imports


def first_example(page: Path) -> str:
    """Return the first Python of a page, which stands above its first section."""
    found = CODE.search(page.read_text(encoding="utf-8").partition("\n## ")[0])
    assert found is not None, f"{page.name} has no example above its first section"
    return found[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_first_example_runs_in_an_empty_folder(page: Path, tmp_path: Path) -> None:
    program = first_example(page)
    environment = {**os.environ, **WITHOUT_HUB, "PYTHONPATH": str(REPOSITORY_ROOT)}
    printed = run_warm(program, env=environment, cwd=tmp_path).stdout
    for said in re.findall(r"^# prints (.*)$", program, flags=re.MULTILINE):
        assert said in printed
    assert ("print(" in program) == bool(printed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_first_example_is_short_and_says_before_what_the_model_does(page: Path) -> None:
    head = page.read_text(encoding="utf-8").partition("```python")[0]
    lines = [line for line in first_example(page).splitlines() if line.strip() and not line.startswith("# prints")]
    assert 3 <= len(lines) <= MOST_LINES
    assert len(re.findall(r"[.:](?=\s)", head)) >= 2


def test_no_example_of_these_pages_names_a_folder_that_nobody_has() -> None:
    wrong = [page.name for page in PAGES if re.search(r"""["' ]runs/…""", page.read_text(encoding="utf-8"))]
    assert wrong == []
