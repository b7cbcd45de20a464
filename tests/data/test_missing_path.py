"""A path that does not exist is called so, by every command and recipe that takes a checkpoint."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.missing_path import refuse_missing_path
from tests.support.subprocesses import REPOSITORY_ROOT

GONE = "runs/none/such folder/checkpoint"


@pytest.mark.parametrize("name", ["a/b/c", "/absent", "./absent", "../a", "~/a", "a b/c", "a/", "", "C:\\a", "-a/b"])
def test_what_can_only_be_a_path(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="there is no checkpoint '"):
        refuse_missing_path(name, "checkpoint")


@pytest.mark.parametrize("name", ["someone/thing", "bert-base-uncased", "a.b/c_d-e"])
def test_what_may_be_a_hub_id(name: str) -> None:
    refuse_missing_path(name, "checkpoint")


def test_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    refuse_missing_path(str(tmp_path / "a b"), "dataset")


@pytest.mark.parametrize(
    "command",
    [
        ["info", GONE],
        ["verify", GONE],
        ["predict", GONE, "--text", "a"],
        ["evaluate", GONE, "--dataset", "sample"],
    ],
)
def test_commands(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    said = capsys.readouterr().err
    assert f"there is no checkpoint '{GONE}'" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("recipe", "options", "what"),
    [
        ("squad_bidaf", ["--init_from", GONE, "--dataset", "sample"], "checkpoint"),
        ("document_bert", ["--model", GONE], "model"),
    ],
)
def test_recipes(
    recipe: str,
    options: list[str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(REPOSITORY_ROOT / "recipes" / f"{recipe}.py"), *options])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(sys.argv[0], run_name="__main__")
    said = f"{ended.value} {capsys.readouterr().err}"
    assert f"there is no {what} '" in said
    assert "Repo id must be" not in said
    assert "Traceback" not in said
