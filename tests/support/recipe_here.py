"""A recipe that ends early, in this process: what it imports would cost seconds in a process of its own."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from ctxzoo.runs.recipe import run_recipe


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
            run_recipe(module.Settings, module.main, module.__doc__)
        except SystemExit as stopped:
            status = stopped.code
    if isinstance(status, str):  # as the interpreter ends
        err.write(f"{status}\n")
        status = 1
    assert isinstance(status, int)
    return subprocess.CompletedProcess([name, *arguments], status, out.getvalue(), err.getvalue())
