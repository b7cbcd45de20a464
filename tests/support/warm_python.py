"""Python programs in processes of their own, without the seconds in which each imports torch and what builds on it.

One interpreter that has imported that, and nothing of ctxzoo, waits; each program runs in a fork of it. What a program
imports, changes or leaves behind is seen by no other. Programs whose subject is what an import loads, or costs, belong
in `tests.support.subprocesses.run_python`.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from tests.support.subprocesses import HIDE_CTXZOO, REPOSITORY_ROOT, check_finished, scratch_program

# A fork goes on behind the loop's first half. It ends without taking the interpreter apart: that would touch, and so
# copy, all that the forks share.
_SERVER = f"""
import atexit, json, os, runpy, sys, threading
import datasets, lightning.pytorch, torch, torchmetrics
from transformers import AutoModel, AutoTokenizer, pipeline
assert "ctxzoo" not in sys.modules
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    request = json.loads(line)
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
        continue
    answers.close()
    os.environ.clear()
    os.environ.update(request["env"])
    if path := os.environ.get("PYTHONPATH"):
        sys.path[1:1] = path.split(os.pathsep)
    os.chdir(request["cwd"])
    for number, path in enumerate((os.devnull, *request["outputs"])):
        os.dup2(os.open(path, os.O_RDWR), number)
    if request["without_ctxzoo"]:
        exec({HIDE_CTXZOO!r})
    status = None
    try:
        runpy.run_path(request["program"], run_name="__main__")
    except SystemExit as end:
        status = end.code
    except Exception:
        sys.excepthook(*sys.exc_info())
        status = 1
    if not isinstance(status, (int, type(None))):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((status or 0) & 255)
"""


# What the libraries read when they are imported; everything else each program has as it is told.
_READ_AT_IMPORT = ("HF_", "TRANSFORMERS_")


def _read_at_import(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_IMPORT)}


_empty_home = tempfile.TemporaryDirectory()
WITHOUT_HUB = {"HF_HOME": _empty_home.name, "HF_HUB_OFFLINE": "1"}


class _WarmPython:
    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_READ_AT_IMPORT)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            env={**inherited, **settings, "OMP_NUM_THREADS": "1"},
            cwd=REPOSITORY_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,  # so that the end of a program that hangs is that of its fork, too
        )

    def run(self, request: dict[str, object], timeout: float) -> int:
        """Return the exit status of the program."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                os.killpg(self.process.pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(str(request["program"]), timeout)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


_waiting: list[_WarmPython] = []


def _close() -> None:
    while _waiting:
        _waiting.pop().close()


atexit.register(_close)


def run_warm(
    code: str,
    *,
    env: Mapping[str, str],
    without_ctxzoo: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 300,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run `code` as `run_python` does, where torch, transformers and lightning are imported already.

    Programs that follow each other share what waits, unless `env` tells the libraries something else that they read
    when they are imported (`HF_…`): that starts anew.

    Args, returns, raises: as `run_python`; without `check` an exit status that is not 0 raises nothing.
    """
    settings = _read_at_import(env)
    if not _waiting or _waiting[0].settings != settings or _waiting[0].process.poll() is not None:
        _close()
        _waiting.append(_WarmPython(settings))
    with scratch_program(code, cwd, without_ctxzoo) as (program, folder):
        outputs = [program.with_name(name) for name in ("stdout", "stderr")]
        for path in outputs:
            path.touch()
        status = _waiting[0].run(
            {
                "program": str(program),
                "env": {**env, "OMP_NUM_THREADS": "1"},
                "outputs": [str(path) for path in outputs],
                "cwd": str(folder),
                "without_ctxzoo": without_ctxzoo,
            },
            timeout,
        )
        printed = [path.read_text(encoding="utf-8", errors="replace") for path in outputs]
    finished = subprocess.CompletedProcess([str(program)], status, *printed)
    return check_finished(finished) if check else finished
