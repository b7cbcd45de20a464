"""What holds for the settings of every recipe."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.runs import many
from ctxzoo.runs.experiment import GROUPS
from ctxzoo.training.arguments import RANGE
from tests.support.recipe_here import options_of, start
from tests.support.subprocesses import REPOSITORY_ROOT

RECIPES = [path.stem for path in sorted((REPOSITORY_ROOT / "recipes").glob("[a-z]*.py"))]


def recipe_of(name: str) -> Any:
    return importlib.import_module(f"recipes.{name}")


def begin_nothing(recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a recipe fail when it begins its work."""
    for where, name in ((recipe, "main"), (recipe, "run_all"), (many, "run_all")):  # a study has its `main` already
        monkeypatch.setattr(where, name, lambda *_, **__: pytest.fail("it began"), raising=False)


@pytest.mark.parametrize("name", RECIPES)
def test_no_run_writes_beside_the_published_ones_unless_told(name: str) -> None:
    folders = {option: default for option, default in options_of(recipe_of(name)).items() if option.endswith("_dir")}
    folders.pop("data_dir", None)
    assert folders.get("results_dir", RESULTS_DIR) == RESULTS_DIR  # one that makes data has no results
    assert {str(folder).split("/")[0] for folder in folders.values()} == {"runs"}


def test_git_ignores_what_runs_write() -> None:
    if not (REPOSITORY_ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    asked = subprocess.run(["git", "check-ignore", f"{RESULTS_DIR}/x.json"], cwd=REPOSITORY_ROOT)
    assert asked.returncode == 0


def test_git_ignores_nothing_that_it_tracks() -> None:
    """A wheel is built without what git ignores, and ruff reads none of it."""
    if not (REPOSITORY_ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    found = subprocess.run(command, cwd=REPOSITORY_ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == ""


@pytest.mark.parametrize("name", RECIPES)
def test_help_keeps_the_lines_of_the_description_and_tells_defaults(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_of(name)
    monkeypatch.setattr(sys, "argv", [str(Path("recipes", f"{name}.py")), "--help"])
    with pytest.raises(SystemExit) as stopped:
        start(recipe)
    printed = capsys.readouterr().out
    assert stopped.value.code == 0
    assert recipe.__doc__.strip() in printed
    assert "default: " in printed


@pytest.mark.parametrize("name", RECIPES)
def test_every_number_has_a_range_that_holds_its_default(name: str) -> None:
    study = getattr(recipe_of(name), "STUDY", None)
    groups = [recipe_of(name).Settings] if study is None else [getattr(study.base, group) for group in GROUPS]
    numbers = [one for group in groups for one in fields(group) if any(kind in one.type for kind in ("int", "float"))]
    assert [one.name for one in numbers if RANGE not in one.metadata] == []
    for one in numbers:
        for value in one.default if isinstance(one.default, tuple) else [one.default]:
            assert value is None or value in one.metadata[RANGE], one.name


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("squad_bidaf", ("--epochs", "-1"), "epochs=-1: expected 1 or more"),
        ("cloze_questions", ("--questions", "-1"), "questions=-1: expected 0 or more"),
        ("squad_bidaf", ("--threads", "-2"), "threads=-2: expected 1 or more"),
        ("document_lama", ("--threads", "0"), "threads=0: expected 1 or more"),
        ("document_lama", ("--learning_rate", "nan"), "learning_rate=nan: expected more than 0"),
        ("wikipedia_attention_cbow", ("--logit_learning_rate", "-1"), "logit_learning_rate=-1.0: expected 0 or more"),
        ("document_lama", ("--logit_scale", "inf"), "logit_scale=inf: expected a finite number"),
        ("sentence_linear", ("--folds", "1"), "folds=1: expected 2 or more"),
        ("sentence_contextualizer", ("--folds", "1"), "folds=1: expected 2 or more"),
        ("sentence_linear", ("--seeds", "0", "-1"), "seed=-1: expected 0 or more, and at most 4.29497e+09"),
        ("wikipedia_attention_cbow", ("--window", "0"), "window=0: expected 1 or more"),
        ("pos_bilstm_tagger", ("--momentum", "1"), "momentum=1.0: expected 0 or more, and less than 1"),
        ("sentence_contextualizer", ("--batch_size", "0"), "batch_size=0: expected 1 or more"),
    ],
)
def test_numbers_out_of_range_end_it_before_anything_is_read(
    name: str, option: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_of(name)
    begin_nothing(recipe, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *option])
    with pytest.raises(SystemExit) as stopped:
        start(recipe)
    assert stopped.value.code == f"error: {message}"


TRAINING = [name for name in RECIPES if name.startswith(("document_", "sentence_", "mr_", "pos_", "squad_"))]


@pytest.mark.parametrize("name", TRAINING)
def test_an_unknown_split_to_score_ends_it_before_anything_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of(name)
    begin_nothing(recipe, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--score", "dev"])
    with pytest.raises(SystemExit) as stopped:
        start(recipe)
    assert stopped.value.code == "error: score='dev': expected one of test, validation"


def test_wandb_without_its_package_ends_it_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.training.libraries.find_spec", lambda name: None)
    recipe = recipe_of("document_lama")
    begin_nothing(recipe, monkeypatch)
    monkeypatch.setattr(sys, "argv", ["document_lama.py", "--wandb"])
    with pytest.raises(SystemExit, match=r"^error: wandb needs: pip install wandb$"):
        start(recipe)
