"""Run Python code in a fresh interpreter, on request one that cannot import ctxzoo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
TAIL_CHARACTERS = 8000

# The program runs from a file, so that tracebacks show its lines and `from __future__` may come first in it.
_RUN_PROGRAM = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"

# A finder in front of all others also hides an installed, an editable and a current-folder ctxzoo.
HIDE_CTXZOO = """
import sys
from importlib.abc import MetaPathFinder

class HideCtxzoo(MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] == "ctxzoo":
            raise ModuleNotFoundError("ctxzoo is hidden from this process", name=fullname)
        return None

sys.meta_path.insert(0, HideCtxzoo())
"""


@contextmanager
def scratch_program(
    code: str, cwd: str | os.PathLike[str] | None, without_ctxzoo: bool
) -> Iterator[tuple[Path, str | os.PathLike[str]]]:
    """Yield a file with the program, in a folder that ends with it, and where it runs, as `run_python` says."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "program.py")
        program.write_text(textwrap.dedent(code), encoding="utf-8")
        if cwd is None:
            cwd = REPOSITORY_ROOT
            if without_ctxzoo:
                cwd = Path(scratch, "empty")
                cwd.mkdir()
        yield program, cwd


def run_python(
    code: str,
    *,
    env: dict[str, str] | None = None,
    without_ctxzoo: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter and wait for it.

    Args:
        code: The program; common leading blanks are removed, so an indented triple-quoted string will do.
        env: The whole environment of the process, as in `subprocess.run`; None: that of this process.
            `OMP_NUM_THREADS=1` is added either way.
        without_ctxzoo: `import ctxzoo` (and any `ctxzoo.…`) raises `ModuleNotFoundError` in the process.
        cwd: Where it runs, importable from there. None: the repository root, or an empty folder of its own when
            ctxzoo is hidden.
        timeout: Time limit in seconds.

    Returns:
        The finished process; `stdout` and `stderr` are text.

    Raises:
        AssertionError: the exit status is not 0; the message ends with the output.
        subprocess.TimeoutExpired: it ran longer than `timeout` and was killed.
    """
    with scratch_program(code, cwd, without_ctxzoo) as (program, folder):
        finished = subprocess.run(
            [sys.executable, "-c", (HIDE_CTXZOO if without_ctxzoo else "") + _RUN_PROGRAM, str(program)],
            env={**(os.environ if env is None else env), "OMP_NUM_THREADS": "1"},
            cwd=folder,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    return check_finished(finished)


def run_module(module: str, *arguments: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run `python -m module` with `arguments` from the root of the repository, on one thread, and wait for it.

    Trainings in several processes find each other on this machine alone. The exit status is not looked at.
    """
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=REPOSITORY_ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def check_finished(finished: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return it if its exit status is 0.

    Raises:
        AssertionError: it is not; the message ends with the output.
    """
    if finished.returncode != 0:
        raise AssertionError(
            f"the Python subprocess ended with status {finished.returncode}\n"
            f"--- end of stdout ---\n{finished.stdout[-TAIL_CHARACTERS:]}\n"
            f"--- end of stderr ---\n{finished.stderr[-TAIL_CHARACTERS:]}"
        )
    return finished
