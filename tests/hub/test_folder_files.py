"""Which files a checkpoint folder may hold: no others are published, and none is called part of a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.main import main
from ctxzoo.hub.checkpoint_folder import CheckpointFolderError, check_checkpoint_folder
from ctxzoo.hub.published import read_published_entries
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoint import write_tiny

SECRET = "tests/conftest.py"
FOREIGN = [
    *(".env", ".git-credentials", "id_rsa", "evil.so", "m.joblib", "x.pkl.gz", "pytorch_model.bin", "notes.txt"),
    *("config.json.bak", "model.safetensors.index.json", "sub/evil.pyc", "__pycache__/ops_answer.pyc", ".git/config"),
    *("logs/metrics.csv", "README.MD", ".eval_results/id_rsa", ".eval_results/.env", ".eval_results/a.yaml"),
    *(".eval_results/deeper/a--b.yaml", "helper.py", ".eval_results/helper.py"),
]


def link(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(REPOSITORY_ROOT / SECRET)


def link_folder(folder: Path, name: str) -> None:
    (folder / name).symlink_to(REPOSITORY_ROOT / "tests", target_is_directory=True)


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_refused_by_name(checkpoint: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (checkpoint / name).parent.mkdir(exist_ok=True)
    (checkpoint / name).write_bytes(b"secret")
    assert main(["verify", str(checkpoint)]) == 1
    said = capsys.readouterr().err
    shown = name if name.startswith(".eval_results/") else name.split("/")[0]
    assert shown.removesuffix("/a--b.yaml") in said.split("holds ")[1]
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda f: link(f, "secret"), r"secret \(a link\)"),
        (lambda f: link(f, "README.md"), r"README\.md \(a link\)"),
        (lambda f: link(f, "config.json"), r"config\.json \(a link\)"),
        (lambda f: link(f, ".eval_results/a--b.yaml"), r"\.eval_results/a--b\.yaml \(a link\)"),
        (lambda f: link_folder(f, "folder"), r"folder \(a link\)"),
        (lambda f: (f / "dangling").symlink_to("nowhere"), r"dangling \(a link\)"),
        (lambda f: os.mkfifo(f / "pipe"), r"pipe \(not a file\)"),
        (lambda f: ((f / "ops_answer.py").unlink(), os.mkfifo(f / "ops_answer.py")), r"ops_answer\.py \(not a file\)"),
        (lambda f: (f / "empty").mkdir(), r"empty \(a folder\)"),
        (lambda f: [(f / f"{i}.bin").touch() for i in range(9)], r"0\.bin, 1\.bin, 2\.bin, 3\.bin, 4\.bin and 4 more"),
    ],
)
def test_links_pipes_and_folders_are_refused(checkpoint: Path, damage: Callable[[Path], Any], named: str) -> None:
    damage(checkpoint)
    with pytest.raises(CheckpointFolderError, match=f"holds {named}"):
        check_checkpoint_folder(checkpoint)


def test_a_folder_of_score_files_that_is_a_link(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "c")
    (folder / ".eval_results").rename(tmp_path / "elsewhere")
    (folder / ".eval_results").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointFolderError, match=r"holds \.eval_results \(a link\)"):
        check_checkpoint_folder(folder)


def test_files_are_told_and_the_hub_s_own_is_allowed(checkpoint: Path) -> None:
    whole = check_checkpoint_folder(checkpoint)
    assert whole == sorted(p.relative_to(checkpoint).as_posix() for p in checkpoint.rglob("*") if p.is_file())
    (checkpoint / ".gitattributes").write_text("*.safetensors filter=lfs\n")
    assert check_checkpoint_folder(checkpoint) == sorted([".gitattributes", *whole])


def test_a_link_to_a_whole_folder_is_whole(checkpoint: Path, tmp_path: Path) -> None:
    """Links are refused in a folder; which folder is meant, its user says."""
    (tmp_path / "latest").symlink_to(checkpoint)
    assert check_checkpoint_folder(tmp_path / "latest") == check_checkpoint_folder(checkpoint)


@pytest.mark.parametrize("folder", read_published_entries(REPOSITORY_ROOT), ids=lambda path: path.name)
def test_published_folders_hold_nothing_else(folder: Path) -> None:
    from ctxzoo.hub.folder_checks import read_architecture
    from ctxzoo.hub.folder_files import check_file_names, list_checkpoint_files

    check_file_names(list_checkpoint_files(folder), read_architecture(folder)[0], str(folder))
