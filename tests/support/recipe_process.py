"""A script of `recipes/` or `reports/` as a person runs it: in a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.warm_python import WITHOUT_HUB, run_warm

TINY = ("--dataset", "sample", "--tiny", "--progress", "false", "--tensorboard", "false")

# As `python SCRIPT ...` has it: the folder of the script is the first of those that modules are imported from.
SCRIPT = """
import os, runpy, sys
os.environ["CTXZOO_CACHE"] = {cache!r}
sys.path[0], sys.argv = {folder!r}, {argv!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def script(name: str) -> Path:
    places = (REPOSITORY_ROOT / folder / f"{name}.py" for folder in ("recipes", "reports"))
    return next(file for file in places if file.exists())


def command(folder: Path, *arguments: str, name: str) -> dict[str, object]:
    """Return what `subprocess` takes, for a script that is to be watched or stopped while it runs."""
    settings = {"OMP_NUM_THREADS": "1", "CTXZOO_CACHE": str(folder / "cache"), "PYTHONPATH": str(REPOSITORY_ROOT)}
    return {
        "args": [sys.executable, str(script(name)), *arguments],
        "cwd": folder,
        "env": {**os.environ, **settings},
        "text": True,
    }


def recipe(folder: Path, *arguments: str, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script to its end, where what takes seconds to import is there already (`tests.support.warm_python`).

    `variables` are added to its environment.
    """
    path = script(name)
    code = SCRIPT.format(cache=str(folder / "cache"), folder=str(path.parent), argv=[str(path), *arguments])
    kept = {variable: value for variable, value in os.environ.items() if not variable.startswith("PYTEST_")}
    env = {**kept, **WITHOUT_HUB, "PYTHONPATH": str(REPOSITORY_ROOT), **variables}
    return run_warm(code, env=env, cwd=folder, timeout=600, check=False)
