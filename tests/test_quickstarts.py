"""docs/quickstart: short pages, whose Python runs as it is copied."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxzoo.hub.packing import pack
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.warm_python import WITHOUT_HUB

PAGES = sorted((REPOSITORY_ROOT / "docs" / "quickstart").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_quick_start_is_short_and_leads_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 400
    assert text.count("](../") >= 3


@pytest.mark.slow
def test_the_examples_for_users_of_the_hub_run(tmp_path: Path) -> None:
    pack(REPOSITORY_ROOT / "model_cards" / "bidaf-squad", tmp_path / "packed")
    run_examples(REPOSITORY_ROOT / "docs" / "quickstart" / "hub.md", tmp_path)


@pytest.mark.slow
def test_the_program_for_users_of_lightning_trains_in_two_processes(tmp_path: Path) -> None:
    page = (REPOSITORY_ROOT / "docs" / "quickstart" / "lightning.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "two.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, **WITHOUT_HUB, "PYTHONPATH": str(REPOSITORY_ROOT)}
    finished = subprocess.run(
        [sys.executable, "two.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("'score': ") == 1
    assert (tmp_path / "lamps" / "config.json").exists()
