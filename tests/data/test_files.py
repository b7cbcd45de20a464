"""Files are written whole, prepared data is kept, and a path that does not exist is called so everywhere."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import runpy
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from huggingface_hub import constants
from transformers import AutoModelForMaskedLM

from ctxzoo.cli.main import main
from ctxzoo.data.files import (
    atomic_file,
    atomic_folder,
    atomic_path,
    build_cached_folder,
    default_cache_folder,
    hash_strings,
    path_exists,
    refuse_missing_path,
    write_atomically,
)
from ctxzoo.data.sources import DatasetUnavailableError, load_splits, resolve_dataset
from ctxzoo.hub.saved_model import fetch_checkpoint_files, load_saved_model
from ctxzoo.training.scoring import check_checkpoint_head
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

        pipe.send(build_cached_folder(folder, build))

    def finish(self) -> Path:
        """What `build_cached_folder` returned."""
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
    assert build_cached_folder(target, build) == target
    assert build_cached_folder(target, build) == target
    assert len(calls) == 1
    assert [path.name for path in target.iterdir()] == ["second"]
    assert [path.name for path in target.parent.iterdir()] == ["squad-1"]


def test_a_builder_that_fails_leaves_nothing(tmp_path):
    def build(folder: Path) -> None:
        write(folder)
        raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError, match="in the middle"):
        build_cached_folder(tmp_path / "squad-1", build)
    assert list(tmp_path.iterdir()) == []
    assert (build_cached_folder(tmp_path / "squad-1", write) / "second").read_text() == "whole"


def test_a_killed_builder_leaves_no_half_folder_behind(tmp_path):
    target = tmp_path / "squad-1"
    process = Builder(target).process
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not target.exists()
    assert sorted(path.name for path in build_cached_folder(target, write).iterdir()) == ["second"]


def test_old_leftovers_of_the_same_folder_go_when_it_is_built(tmp_path):
    old, young, other = tmp_path / ".squad-1-abcd_123", tmp_path / ".squad-1-efgh4567", tmp_path / ".squad-2-abcd_123"
    for scratch, age in ((old, 25), (young, 23), (other, 25)):
        (scratch / "squad").mkdir(parents=True)
        (scratch / "squad" / "first").write_text("half")
        hours_ago = time.time() - age * 3600
        os.utime(scratch, (hours_ago, hours_ago))
    build_cached_folder(tmp_path / "squad-1", write)
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
        build_cached_folder(tmp_path / "file" / "squad-1", write)


def test_a_full_disk_is_an_error_that_names_the_variable(tmp_path):
    def build(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"no space left.*CTXZOO_CACHE"):
        build_cached_folder(tmp_path / "squad-1", build)
    assert list(tmp_path.iterdir()) == []


def test_other_users_may_read_what_the_umask_allows(tmp_path):
    before = os.umask(0o022)
    try:
        folder = build_cached_folder(tmp_path / "squad-1", write)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_hash_depends_on_every_part_and_its_borders():
    hashes = {hash_strings(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", ""], [])}
    assert len(hashes) == 6
    assert hash_strings(["ab", "c"]) == hash_strings(iter(["ab", "c"]))
    assert hash_strings(["\udc80"]) != hash_strings(["\udc81"])


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


@contextmanager
def read_meanwhile(pipe: Path) -> Iterator[list[bytes]]:
    """Read a named pipe to its end, in a thread, while the block writes."""
    content: list[bytes] = []
    reader = threading.Thread(target=lambda: content.append(pipe.read_bytes()), daemon=True)
    reader.start()
    yield content
    reader.join(timeout=20)


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with read_meanwhile(pipe) as content:
            write_atomically(path, b"whole")
        assert content == [b"whole"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_device_is_written_into_and_stays(tmp_path: Path) -> None:
    device = tmp_path / "device"
    with contextlib.suppress(PermissionError):  # who may make none can replace none
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        with contextlib.suppress(PermissionError):  # of a file system without devices
            write_atomically(device, b"whole")
        assert stat.S_ISCHR(device.stat().st_mode)
        assert list(tmp_path.iterdir()) == [device]


def test_an_open_file_is_written_into_where_it_stands(tmp_path: Path) -> None:
    """As /dev/stdout in `ctxzoo … --output /dev/stdout >> file`."""
    log, link = tmp_path / "log", tmp_path / "stdout"
    log.write_bytes(b"before\n")
    with log.open("ab", buffering=0) as file:
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        for path in (link, Path(f"/proc/self/fd/{file.fileno()}")):
            write_atomically(path, b"content\n")
        file.write(b"after\n")
    assert log.read_bytes() == b"before\ncontent\ncontent\nafter\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log", "stdout"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link, chain, dangling = (tmp_path / name for name in ("there/file", "link", "chain", "dangling"))
    target.write_bytes(b"earlier")
    target.chmod(0o640)
    link.symlink_to("there/file")
    chain.symlink_to(link)
    dangling.symlink_to("there/new")
    for number, path in enumerate((link, chain)):
        write_atomically(path, b"%d" % number)
        assert target.read_bytes() == b"%d" % number
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write_atomically(dangling, b"new")
    assert (tmp_path / "there" / "new").read_bytes() == b"new"
    assert link.is_symlink()
    assert chain.is_symlink()
    assert dangling.is_symlink()

    folder = tmp_path / "folder"
    (tmp_path / "real").mkdir()
    folder.symlink_to("real")
    with atomic_folder(folder) as fresh:
        (fresh / "a").write_text("a")
    assert folder.is_symlink()
    assert [each.name for each in (tmp_path / "real").iterdir()] == ["a"]


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    with pytest.raises(IsADirectoryError, match="is a folder; expected a file"):
        write_atomically(tmp_path, b"")
    with pytest.raises(NotADirectoryError, match="file is a file; expected a folder"), atomic_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_bytes() == b"precious"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_temporary_name_is_new_each_time_and_no_link_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = set()
    for _ in range(3):
        with atomic_path(tmp_path / "file") as temporary:
            names.add(temporary.name)
    assert len(names) == 3
    monkeypatch.setattr("ctxzoo.data.files.secrets.token_hex", lambda number: "0" * 2 * number)
    with atomic_path(tmp_path / "file") as temporary:
        guessed = temporary
    (tmp_path / "precious").write_bytes(b"precious")
    guessed.symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "file", b"other")
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_four_threads_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([number]) * 200_000 for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda number: write_atomically(path, contents[number % 4]), range(80)):
            assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_long_name_has_a_temporary_one(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("ü" * 125 + ".json"), b"whole")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("undone", [True, False])
def test_a_folder_that_cannot_be_replaced_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undone: bool
) -> None:
    folder = tmp_path / "data"
    with atomic_folder(folder) as fresh:
        (fresh / "earlier").write_text("precious")
    replace, calls = os.replace, []

    def fail_later(source: Path, target: Path) -> None:
        calls.append(source)
        if len(calls) == 2 or (len(calls) == 3 and not undone):
            raise OSError(errno.EIO, "the disk is gone")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_later)
    with pytest.raises(OSError, match="the disk is gone") as failed, atomic_folder(folder) as fresh:
        (fresh / "new").write_text("new")
    (left,) = (path.parent for path in tmp_path.rglob("earlier"))
    assert left == folder if undone else f"what it held is in {left}" in str(failed.value)
    assert not list(tmp_path.rglob("new"))
    assert not undone or list(tmp_path.iterdir()) == [folder]


def _replace_and_be_killed(folder: Path, module: ModuleType, name: str, number: int) -> None:
    """Replace `folder` in a process that is killed where it calls a function for this time."""

    def work() -> None:
        function, calls = getattr(module, name), []

        def or_die(*args: Any, **kwargs: Any) -> None:
            calls.append(args)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            function(*args, **kwargs)

        setattr(module, name, or_die)
        with atomic_folder(folder) as fresh:
            (fresh / "new").write_text("new")

    process = FORK.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("opening", ["data", "checkpoint", "writing"])
def test_a_folder_whose_replacement_was_killed_is_there_at_the_next_opening(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, opening: str
) -> None:
    folder = tmp_path / ("data" + "-of-a-long-name" * 5)
    for path in (folder, folder.with_name(folder.name + "-old-2")):
        with atomic_folder(path) as fresh:
            (fresh / "earlier").write_text(path.name)
    _replace_and_be_killed(folder, os, "replace", 2)
    assert not folder.exists()
    if opening == "data":
        assert resolve_dataset(folder.name, str(tmp_path)) == str(folder)
    elif opening == "checkpoint":
        assert fetch_checkpoint_files(str(folder)) == folder
    else:
        with pytest.raises(ValueError, match="no"), atomic_folder(folder):
            raise ValueError("no")
    assert (folder / "earlier").read_text() == folder.name
    assert "is put back: a process was killed while it replaced it" in caplog.text
    assert not list(tmp_path.glob(".*-old-*"))


def test_what_was_replaced_by_a_killed_process_never_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with atomic_folder(folder) as fresh:
        (fresh / "earlier").write_text("")
    _replace_and_be_killed(folder, shutil, "rmtree", 1)
    assert [path.name for path in folder.iterdir()] == ["new"]
    shutil.rmtree(folder)
    assert not path_exists(folder)


@pytest.mark.parametrize("name", ["a/b/c", "/absent", "./absent", "../a", "~/a", "a b/c", "a/", "", "C:\\a", "-a/b"])
def test_what_can_only_be_a_path(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="there is no checkpoint '"):
        refuse_missing_path(name, "checkpoint")


@pytest.mark.parametrize("name", ["data/names.conll", "songs/a.MID", "corpus.txt.gz", "vectors.vec"])
def test_a_name_of_a_file_is_on_no_hub(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no dataset '.*': no such file$"):
        refuse_missing_path(name, "dataset")
    with pytest.raises(DatasetUnavailableError, match="no file or folder"):
        load_splits(name)


@pytest.mark.parametrize("name", ["someone/thing", "bert-base-uncased", "a.b/c_d-e"])
def test_what_may_be_a_hub_id(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("ctxzoo.data.files.is_hub_reachable", lambda: True)
    refuse_missing_path(name, "checkpoint")


@pytest.mark.parametrize("is_cached", [True, False])
def test_a_hub_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cached: bool
) -> None:
    """The client itself would try again for half a minute, whatever reads the name."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it tries again"))
    if is_cached:
        (tmp_path / "models--runs--none" / "refs").mkdir(parents=True)
        (tmp_path / "models--runs--none" / "refs" / "main").write_text("0" * 40)
        config = tmp_path / "models--runs--none" / "snapshots" / ("0" * 40) / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text("{}")
        refuse_missing_path("runs/none", "checkpoint")
        return
    said = r"no folder 'runs/none' here, .* cannot be reached; check path and network"
    for read in (load_saved_model, lambda name: check_checkpoint_head(AutoModelForMaskedLM, name)):
        with pytest.raises(FileNotFoundError, match=said):
            read("runs/none")


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
