"""A recipe that ends early, in this process: what it imports would cost seconds in a process of its own."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.runs.recipe import parse_settings, run_recipe, run_study


def recipe_here(folder: Path, *arguments: str, name: str) -> subprocess.CompletedProcess[str]:
    """Run a script of `recipes/` or `reports/` in `folder` and return what its process would have left.

    For runs that stop before they train: a training would leave its seed and its threads behind.
    """
    packages = (package for package in ("recipes", "reports") if importlib.util.find_spec(f"{package}.{name}"))
    module = importlib.import_module(f"{next(packages)}.{name}")
    out, err = StringIO(), StringIO()
    status: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("CTXZOO_CACHE", str(folder / "cache"))
        patch.setattr(sys, "argv", [f"{name}.py", *arguments])
        try:
            start(module)
        except SystemExit as stopped:
            status = stopped.code
    if isinstance(status, str):  # as the interpreter ends
        err.write(f"{status}\n")
        status = 1
    assert isinstance(status, int)
    return subprocess.CompletedProcess([name, *arguments], status, out.getvalue(), err.getvalue())


def start(module: Any) -> None:
    """Start a script with the command line in `sys.argv`."""
    if hasattr(module, "STUDY"):
        run_study(module.STUDY, module.__doc__)
    else:
        run_recipe(module.Settings, module.main, module.__doc__)


def ask(module: Any, arguments: Sequence[str]) -> None:
    """Do what a command line asks of a script; errors are not turned into lines."""
    if hasattr(module, "STUDY"):
        module.STUDY.run(arguments)
    else:
        module.main(parse_settings(module.Settings, arguments))


def options_of(module: Any) -> dict[str, Any]:
    """Name to default of the options of a script."""
    if not hasattr(module, "STUDY"):
        return {one.name: one.default for one in fields(module.Settings)}
    parser = module.STUDY.build_parser()
    own = {name: default for name, (_, default, _) in parser.lists.items()}
    return {**{name: module.STUDY.base.values().get(name) for name in (*parser.dotted, *parser.short)}, **own}
