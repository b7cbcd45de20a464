"""Programs in forks of one interpreter: alone with what they do, with the exit status and output that they have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.doors import offline
from tests.support.subprocesses import run_python
from tests.support.warm_python import run_warm

ENV = offline()


def test_a_program_is_in_a_process_of_its_own_with_torch_at_hand(tmp_path: Path) -> None:
    code = """
        import os, sys
        modules = ["torch" in sys.modules, "ctxzoo" in sys.modules]
        print(os.getpid(), *modules, os.getcwd(), os.environ["HF_HOME"], __name__)
        sys.kept = getattr(sys, "kept", 0) + 1
        print(sys.kept, sys.stdin.read() == "", file=sys.stderr)
    """
    one, other = (run_warm(code, env=ENV, cwd=tmp_path) for _ in range(2))
    pid, *said = one.stdout.split()
    assert said == ["True", "False", str(tmp_path.resolve()), ENV["HF_HOME"], "__main__"]
    assert other.stdout.split()[0] not in (pid, str(os.getpid()))
    assert one.stderr == other.stderr == "1 True\n"


def test_the_package_is_hidden_on_request() -> None:
    assert run_warm("import ctxzoo, os; print(os.listdir())", env=ENV).stdout.count("'ctxzoo'") == 1
    assert run_warm("import os; print(os.listdir())", env=ENV, without_ctxzoo=True).stdout == "[]\n"
    with pytest.raises(AssertionError, match=r"status 1(?s:.)*ctxzoo is hidden from this process"):
        run_warm("import ctxzoo", env=ENV, without_ctxzoo=True)


@pytest.mark.parametrize(
    ("end", "status"),
    [("raise SystemExit(3)", 3), ("raise ValueError('no')", 1), ("import os; os.kill(os.getpid(), 9)", -9)],
    ids=["exit", "error", "killed"],
)
def test_an_end_that_is_not_0_is_told_with_what_was_printed(end: str, status: int) -> None:
    with pytest.raises(AssertionError, match=rf"status {status}\n(?s:.)*so far"):
        run_warm(f"print('so far', flush=True)\n{end}", env=ENV)
    assert run_warm("print('alive')", env=ENV).stdout == "alive\n"


@pytest.mark.slow
def test_other_environments_and_programs_that_hang(tmp_path: Path) -> None:
    read = "import huggingface_hub.constants as known; print(known.HF_HOME)"
    other = {**ENV, "HF_HOME": str(tmp_path)}
    assert run_warm(read, env=ENV).stdout == f"{ENV['HF_HOME']}\n"
    with pytest.raises(subprocess.TimeoutExpired):
        run_warm("import time; time.sleep(600)", env=ENV, timeout=0.5)
    assert run_warm(read, env=other).stdout == f"{tmp_path}\n"


@pytest.mark.slow
def test_what_waits_ends_with_the_process_that_started_it() -> None:
    printed = run_python(f"""
        from tests.support.warm_python import run_warm
        print(run_warm("import os; print(os.getppid())", env={ENV!r}).stdout)
    """).stdout
    with pytest.raises(ProcessLookupError):
        os.kill(int(printed), 0)
