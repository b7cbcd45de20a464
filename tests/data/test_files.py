"""Files are written whole, prepared data is kept, and a path that does not exist is called so everywhere."""

from __future__ import annotations

import errno
import multiprocessing
import os
import runpy
import signal
import stat
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.files import (
    atomic_file,
    atomic_folder,
    cached_folder,
    content_hash,
    default_cache_folder,
    refuse_missing_path,
)
from tests.support.subprocesses import REPOSITORY_ROOT

FORK = multiprocessing.get_context("fork")
GONE = "runs/none/such folder/checkpoint"


class Builder:
    """A process that stands in the middle of writing `folder` until `finish`."""

    def __init__(self, folder: Path, name: str = "") -> None:
        self.pipe, other = FORK.Pipe()
        self.process = FORK.Process(target=self._run, args=(folder, name, other), daemon=True)
        self.process.start()
        assert self.pipe.recv() == "half"

    @staticmethod
    def _run(folder: Path, name: str, pipe: Connection) -> None:
        def build(temporary: Path) -> None:
            (temporary / "first").write_text("half")
            pipe.send("half")
            pipe.recv()
            (temporary / "second").write_text(name)

        pipe.send(cached_folder(folder, build))

    def finish(self) -> Path:
        """What `cached_folder` returned."""
        self.pipe.send("go on")
        result: Path = self.pipe.recv()
        self.process.join()
        return result


def write(folder: Path) -> None:
    (folder / "second").write_text("whole")


def test_the_second_call_does_not_build(tmp_path):
    calls = []

    def build(folder: Path) -> None:
        calls.append(folder)
        write(folder)

    target = tmp_path / "deep" / "squad-1"
    assert cached_folder(target, build) == target
    assert cached_folder(target, build) == target
    assert len(calls) == 1
    assert [path.name for path in target.iterdir()] == ["second"]
    assert [path.name for path in target.parent.iterdir()] == ["squad-1"]


def test_a_builder_that_fails_leaves_nothing(tmp_path):
    def build(folder: Path) -> None:
        write(folder)
        raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError, match="in the middle"):
        cached_folder(tmp_path / "squad-1", build)
    assert list(tmp_path.iterdir()) == []
    assert (cached_folder(tmp_path / "squad-1", write) / "second").read_text() == "whole"


def test_a_killed_builder_leaves_no_half_folder_behind(tmp_path):
    target = tmp_path / "squad-1"
    process = Builder(target).process
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not target.exists()
    assert sorted(path.name for path in cached_folder(target, write).iterdir()) == ["second"]


def test_old_leftovers_of_the_same_folder_go_when_it_is_built(tmp_path):
    old, young, other = tmp_path / ".squad-1-abcd_123", tmp_path / ".squad-1-efgh4567", tmp_path / ".squad-2-abcd_123"
    for scratch, age in ((old, 25), (young, 23), (other, 25)):
        (scratch / "squad").mkdir(parents=True)
        (scratch / "squad" / "first").write_text("half")
        hours_ago = time.time() - age * 3600
        os.utime(scratch, (hours_ago, hours_ago))
    cached_folder(tmp_path / "squad-1", write)
    assert {path.name for path in tmp_path.iterdir()} == {"squad-1", young.name, other.name}
    assert (young / "squad" / "first").read_text() == "half"


def test_of_two_builders_at_once_the_first_to_finish_wins_and_both_read_it(tmp_path):
    target = tmp_path / "squad-1"
    late, early = Builder(target, "late"), Builder(target, "early")
    assert early.finish() == target
    assert late.finish() == target
    assert (target / "second").read_text() == "early"
    assert [path.name for path in tmp_path.iterdir()] == ["squad-1"]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_variable(tmp_path):
    # A file in the place of a folder: refused for every user, root included.
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write prepared data to .*file.*CTXZOO_CACHE"):
        cached_folder(tmp_path / "file" / "squad-1", write)


def test_a_full_disk_is_an_error_that_names_the_variable(tmp_path):
    def build(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left.*CTXZOO_CACHE"):
        cached_folder(tmp_path / "squad-1", build)
    assert list(tmp_path.iterdir()) == []


def test_other_users_may_read_what_the_umask_allows(tmp_path):
    before = os.umask(0o022)
    try:
        folder = cached_folder(tmp_path / "squad-1", write)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_hash_depends_on_every_part_and_its_borders():
    hashes = {content_hash(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", ""], [])}
    assert len(hashes) == 6
    assert content_hash(["ab", "c"]) == content_hash(iter(["ab", "c"]))
    assert content_hash(["\udc80"]) != content_hash(["\udc81"])


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "own"))
    assert default_cache_folder() == tmp_path / "own"
    monkeypatch.delenv("CTXZOO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_folder() == tmp_path / "xdg" / "ctxzoo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / ".cache" / "ctxzoo"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as file:
        file.write(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"first"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


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


def test_a_folder_takes_the_place_of_another_only_when_it_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "below" / "data"

    def fill(content: str, error: BaseException | None = None) -> None:
        with atomic_folder(folder) as fresh:
            (fresh / content).write_text(content)
            if error:
                raise error

    with pytest.raises(ValueError, match="broken"):
        fill("first", ValueError("broken"))
    assert list(folder.parent.iterdir()) == []
    fill("first")
    with pytest.raises(KeyboardInterrupt):
        fill("second", KeyboardInterrupt())
    assert [path.name for path in folder.iterdir()] == ["first"]
    fill("second")
    assert [path.name for path in folder.iterdir()] == ["second"]
    assert list(folder.parent.iterdir()) == [folder]
