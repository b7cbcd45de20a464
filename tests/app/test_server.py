"""`ctxzoo app` as a program: its address, Ctrl-C, mistakes in words, and a Space that runs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from ctxzoo.app.space import write_space
from ctxzoo.cli.main import main
from tests.support.missing_packages import hide_packages
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoints import WRITERS

NOBODY = "http://127.0.0.1:9"  # a proxy that nobody listens at
OFFLINE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), NOBODY)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WRITERS["session-recommendation"](tmp_path_factory.mktemp("sessions") / "shelves")


def find_free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def run_page(arguments: Sequence[str], **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program that serves a page, without a network; yield it with the address that it prints."""
    names = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    program = subprocess.Popen(
        [sys.executable, *arguments],
        env={**names, **OFFLINE, "PYTHONPATH": str(REPOSITORY_ROOT), **environment},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a script in the background ignores it
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        line = program.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address, line + (program.communicate()[1] if not line else "")
        yield program, address[0]
    finally:
        program.kill()
        program.communicate()


def read(address: str) -> str:
    """The page at an address, without a proxy."""
    with build_opener(ProxyHandler({})).open(address, timeout=30) as answer:
        return str(answer.read(), "utf-8")


@pytest.mark.slow
def test_the_command_serves_a_page_without_a_network_until_ctrl_c(checkpoint: Path) -> None:
    port = find_free_port()
    with run_page(["-m", "ctxzoo.cli", "app", str(checkpoint), "--no_open", "--port", str(port)]) as (program, address):
        assert address == f"http://127.0.0.1:{port}/"
        page = read(address)
        assert "shelves: session recommendation" in page
        assert "fonts.googleapis.com" not in page
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
    assert (program.returncode, said) == (130, "ctxzoo: stopped\n")


@pytest.mark.slow
def test_a_space_runs(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = tmp_path / "space"
    assert main(["app", str(checkpoint), "--space", str(space)]) == 0
    assert "no release" in capsys.readouterr().out
    assert sorted(path.name for path in space.iterdir()) == ["README.md", "app.py", "requirements.txt", "shelves"]
    assert (space / "shelves" / "modeling_hcrnn.py").is_file(), "the checkpoint is packed"
    header = (space / "README.md").read_text().split("---")[1]
    assert re.search(r"\nsdk: gradio\nsdk_version: \d+\.\d+\.\d+\n", header)
    assert "\napp_file: app.py\n" in header
    with run_page([str(space / "app.py")], GRADIO_SERVER_PORT=str(find_free_port())) as (_, address):
        assert "shelves: session recommendation" in read(address)


def test_a_space_of_a_hub_id_names_it(tmp_path: Path) -> None:
    write_space("someone/shelves", tmp_path / "space")
    assert "build_app('someone/shelves')" in (tmp_path / "space" / "app.py").read_text()
    assert "\nmodels:\n- someone/shelves\n" in (tmp_path / "space" / "README.md").read_text()


def test_a_space_replaces_nothing(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["app", str(checkpoint), "--space", str(tmp_path)]) == 2
    assert "not an empty folder; choose another name" in capsys.readouterr().err
    assert main(["app", str(tmp_path), "--space", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()


def test_a_port_that_is_taken(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["app", str(checkpoint), "--no_open", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ctxzoo: error: cannot listen at 127.0.0.1, port {port}: another program may have it")


@pytest.mark.slow
def test_without_gradio(checkpoint: Path, tmp_path: Path) -> None:
    hidden = hide_packages(["gradio"], tmp_path / "hidden", str(REPOSITORY_ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "ctxzoo.cli", "app", str(checkpoint)],
        env={**os.environ, **hidden},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "ctxzoo: error: pages need gradio, of the extra app: pip install gradio\n",
    )
