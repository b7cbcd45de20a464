"""What holds for the settings of every recipe."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.evaluation.results import RESULTS_DIR
from ctxzoo.hub.recipe import run_recipe
from tests.support.subprocesses import REPOSITORY_ROOT

RECIPES = [path.stem for path in sorted((REPOSITORY_ROOT / "recipes").glob("[a-z]*.py"))]


def recipe_of(name: str) -> Any:
    return importlib.import_module(f"recipes.{name}")


@pytest.mark.parametrize("name", RECIPES)
def test_no_run_writes_beside_the_published_ones_unless_told(name: str) -> None:
    folders = {one.name: one.default for one in fields(recipe_of(name).Settings) if one.name.endswith("_dir")}
    folders.pop("data_dir", None)
    assert folders["results_dir"] == RESULTS_DIR
    assert {str(folder).split("/")[0] for folder in folders.values()} == {"runs"}


def test_git_ignores_what_runs_write() -> None:
    if not (REPOSITORY_ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    asked = subprocess.run(["git", "check-ignore", f"{RESULTS_DIR}/x.json"], cwd=REPOSITORY_ROOT)
    assert asked.returncode == 0


@pytest.mark.parametrize("name", RECIPES)
def test_help_keeps_the_lines_of_the_description_and_tells_defaults(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_of(name)
    monkeypatch.setattr(sys, "argv", [str(Path("recipes", f"{name}.py")), "--help"])
    with pytest.raises(SystemExit) as stopped:
        run_recipe(recipe.Settings, recipe.main, recipe.__doc__)
    printed = capsys.readouterr().out
    assert stopped.value.code == 0
    assert recipe.__doc__.strip() in printed
    assert "(default: " in printed
