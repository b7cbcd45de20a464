"""Every option that a message names is one of the command that prints it."""

from __future__ import annotations

import argparse
import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxzoo.cli.main import build_parser
from ctxzoo.runs.command_line import rewrite_advice_for_command
from tests.support.recipe_here import options_of
from tests.support.subprocesses import REPOSITORY_ROOT

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9_]*)")
ADVICE = re.compile(r"(?:\bset|\bpass|\bgive) [a-z]+_[a-z_]+\b|(?:use|:) \w+=True")  # of an argument, outside an aside
RECIPES = [path.stem for path in sorted((REPOSITORY_ROOT / "recipes").glob("[a-z]*.py"))]
LIBRARY = ("data", "evaluation", "hub", "metrics", "training")  # reached from recipes, commands and Python alike
OF_EVERY_TRAINING = {"output_dir", "results_dir", "resume"}  # what the library may name
# Style, git, commands of recipes; what commands alone reach.
NO_MESSAGES = (
    *("explanation.py", "environment.py", "table", "recipe.py"),
    *("answer_files.py", "row_stream.py", "reading_notes.py"),
)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a file other than docstrings, each with its line; what is put into them is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in inner | described:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def options_of_recipe(name: str) -> set[str]:
    return set(options_of(importlib.import_module(f"recipes.{name}")))


def options_of_commands() -> set[str]:
    parser = build_parser()
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    parsers = [parser, *commands.choices.values()]
    return {text.removeprefix("--") for parser in parsers for one in parser._actions for text in one.option_strings}


def foreign(text: str, own: set[str]) -> list[str]:
    """Options that a text names and nobody has; of another recipe where the text is a command of it."""
    asked = re.search(r"recipes/(\w+)\.py", text)
    known = options_of_recipe(asked[1]) if asked else own
    return [name for name in OPTION.findall(text) if name not in known]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_names_its_own_options(name: str) -> None:
    module = importlib.import_module(f"recipes.{name}")
    path = REPOSITORY_ROOT / "recipes" / f"{name}.py"
    texts = [(1, line) for line in module.__doc__.splitlines() if line.startswith("    python recipes/")]
    texts += [(line, text) for line, text in strings(path) if "recipes/" not in text and not text.startswith(" --")]
    found = [(line, foreign(text, options_of_recipe(name))) for line, text in texts]
    assert [one for one in found if one[1]] == []


def test_the_command_line_names_its_own_options() -> None:
    found = [
        (line, foreign(text, options_of_commands())) for line, text in strings(REPOSITORY_ROOT / "ctxzoo/cli/main.py")
    ]
    assert [one for one in found if one[1]] == []


@pytest.mark.parametrize("package", LIBRARY)
def test_the_library_names_options_of_every_training_and_advises_arguments_in_asides(package: str) -> None:
    found = [
        f"{path.name}:{line}: {text}"
        for path in sorted((REPOSITORY_ROOT / "ctxzoo" / package).glob("*.py"))
        if not path.name.startswith(NO_MESSAGES)
        for line, whole in strings(path)
        # A whole command has the options of that command.
        for text in [re.sub(r"`ctxzoo [^`]*`", "", whole)]
        if not text.startswith("ctxzoo ")
        and (ADVICE.search(text) or not set(OPTION.findall(text)) <= OF_EVERY_TRAINING)
    ]
    assert found == []


def test_every_recipe_that_trains_has_the_options_that_the_library_names() -> None:
    training = [name for name in RECIPES if "epochs" in options_of_recipe(name)]
    assert len(training) > 5
    assert [name for name in training if not options_of_recipe(name) >= OF_EVERY_TRAINING] == []


def test_an_aside_is_told_in_options_or_left_out() -> None:
    message = "no column 'x'; rename one (or set `text_column`), or take others (or set `dataset` to sample)."
    assert rewrite_advice_for_command(message, {"text_column", "dataset"}) == (
        "no column 'x'; rename one (or set --text_column), or take others (or set --dataset to sample)."
    )
    assert rewrite_advice_for_command(message, {"datasets"}) == (
        "no column 'x'; rename one, or take others (or set --datasets to sample)."
    )
    assert rewrite_advice_for_command(message, ()) == "no column 'x'; rename one, or take others."
