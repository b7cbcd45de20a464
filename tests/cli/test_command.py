"""The command: what it says without its package, and its end in one line after Ctrl-C, even while that is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ctxzoo
from ctxzoo_command import main
from tests.support.subprocesses import REPOSITORY_ROOT


def test_ctrl_c_while_the_package_is_imported_is_one_line(tmp_path: Path) -> None:
    # torch is among the first things imported; here it takes Ctrl-C and then for ever.
    (tmp_path / "torch.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from ctxzoo_command import main; sys.exit(main(['list']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY_ROOT)])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "ctxzoo: stopped\n")


def test_ctrl_c_in_a_command_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ctxzoo.cli.doctor.examine_installation", stop)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "ctxzoo: stopped\n"


def test_it_does_what_the_package_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "bidaf" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--help"], 0, "Score a checkpoint on a split."),
        (["--version"], 0, f"ctxzoo {ctxzoo.__version__}"),
        ([], 2, "the following arguments are required: COMMAND"),
        (["trian"], 2, "invalid choice: 'trian'"),
    ],
)
def test_help_and_version_need_no_package(arguments: list[str], status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "transformers.py").write_text("raise SystemExit('transformers was imported')\n")
    run = subprocess.run(
        [sys.executable, "-c", f"from ctxzoo_command import main; main({arguments})"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY_ROOT)])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == status
    assert said in (run.stderr if status else run.stdout)
