"""Threads that wait give their core away soon: in the command line, in recipes, where ctxzoo is imported first."""

from __future__ import annotations

from ctxzoo.openmp import SPINS

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.subprocesses import REPOSITORY_ROOT

RECIPES = sorted((REPOSITORY_ROOT / "recipes").glob("*.py"))
DECIDED = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def spins(program: str) -> str | None:
    """What libgomp read when it was loaded by a program."""
    environment = {name: value for name, value in os.environ.items() if name not in DECIDED}
    environment |= {"OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(REPOSITORY_ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=REPOSITORY_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"GOMP_SPINCOUNT = '(\w+)'", done.stderr)
    return found[1] if found else None


def first_import(file: Path) -> str:
    imports = [node for node in ast.parse(file.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return ast.unparse(next(node for node in imports if getattr(node, "module", None) != "__future__"))


@pytest.mark.slow  # two processes that import torch
def test_the_bound_is_there_when_torch_is_loaded() -> None:
    unbounded = spins("import torch")
    if unbounded is None:
        pytest.skip("this torch computes with another OpenMP than GNU's")
    assert spins("import ctxzoo, torch") == str(SPINS) != unbounded


@pytest.mark.parametrize("variables", [{"GOMP_SPINCOUNT": "77"}, {"OMP_WAIT_POLICY": "active"}])
def test_what_a_user_sets_wins(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DECIDED:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    runpy.run_path(str(REPOSITORY_ROOT / "ctxzoo" / "openmp.py"))
    assert {name: os.environ[name] for name in DECIDED if name in os.environ} == variables


def test_the_package_imports_it_before_anything_else() -> None:
    assert first_import(REPOSITORY_ROOT / "ctxzoo" / "__init__.py") == "import ctxzoo.openmp"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_asks_for_it_before_anything_else(recipe: Path) -> None:
    assert first_import(recipe) == "import ctxzoo.openmp"


def test_make_exports_the_same_number() -> None:
    assert f"\nexport GOMP_SPINCOUNT ?= {SPINS}\n" in (REPOSITORY_ROOT / "Makefile").read_text()
