"""Threads that wait give their core away soon: in the command line, in recipes, where ctxzoo is imported first."""

from __future__ import annotations

from ctxzoo.openmp import SPINS

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.subprocesses import REPOSITORY_ROOT

RECIPES = sorted((REPOSITORY_ROOT / "recipes").glob("*.py"))
DECIDED = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def spins(*program: str, **variables: str) -> str | None:
    """What libgomp read when it was loaded by a program."""
    environment = {name: value for name, value in os.environ.items() if name not in DECIDED}
    environment |= {"OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(REPOSITORY_ROOT), **variables}
    done = subprocess.run(
        [sys.executable, *program], env=environment, cwd=REPOSITORY_ROOT, capture_output=True, text=True, check=True
    )
    found = re.search(r"GOMP_SPINCOUNT = '(\w+)'", done.stderr)
    return found[1] if found else None


@pytest.fixture(scope="module")
def unbounded() -> str:
    found = spins("-c", "import torch")
    if found is None:
        pytest.skip("this torch computes with another OpenMP than GNU's")
    return found


@pytest.mark.parametrize(
    "program",
    [("-m", "ctxzoo.cli.main", "--help"), ("recipes/squad_bidaf.py", "--help"), ("-c", "import ctxzoo, torch")],
)
def test_the_bound_is_there_when_torch_is_loaded(unbounded: str, program: tuple[str, ...]) -> None:
    assert spins(*program) == str(SPINS) != unbounded


@pytest.mark.parametrize("variables", [{"GOMP_SPINCOUNT": "77"}, {"OMP_WAIT_POLICY": "active"}])
def test_what_a_user_sets_wins(unbounded: str, variables: dict[str, str]) -> None:
    assert spins("-c", "import ctxzoo", **variables) == spins("-c", "import torch", **variables) != str(SPINS)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_asks_for_it_before_anything_else(recipe: Path) -> None:
    imports = [node for node in ast.parse(recipe.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    first = next(node for node in imports if getattr(node, "module", None) != "__future__")
    assert ast.unparse(first) == "import ctxzoo.openmp"


def test_make_exports_the_same_number() -> None:
    assert f"\nexport GOMP_SPINCOUNT ?= {SPINS}\n" in (REPOSITORY_ROOT / "Makefile").read_text()
