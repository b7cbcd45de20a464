"""Pushing to a loopback Hub with the real client, and loading from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxzoo.hub.push import push_folder
from tests.hub.doors import assert_same_as_here, open_all
from tests.hub.tiny_checkpoint import write_tiny
from tests.support import hub_server
from tests.support.hub_server import HubServer, hub_environment
from tests.support.subprocesses import run_python

REPO = "someone/bidaf-tiny"


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


def push(folder: Path, env: dict[str, str], *options: str, repo: str = REPO) -> tuple[int, str, str]:
    """Status, output and errors of `ctxzoo push`."""
    code = f"""
        import contextlib, io, json
        from ctxzoo.cli import main
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main({["push", str(folder), repo, *options]!r})
        print("RESULT", json.dumps([status, out.getvalue(), err.getvalue()]))
    """
    finished = run_python(code, env=env)
    line = next(line for line in finished.stdout.splitlines() if line.startswith("RESULT "))
    status, out, err = json.loads(line.removeprefix("RESULT "))
    return status, out.strip(), err.strip()


@pytest.mark.slow
def test_pushed_in_one_commit_and_opened_from_there(server: HubServer, checkpoint: Path, tmp_path: Path) -> None:
    environment = hub_environment(server, tmp_path / "home")
    status, out, err = push(checkpoint, environment, "--message", "First")
    assert (status, err) == (0, "")
    (commit,) = server.commits(REPO)
    assert commit["message"] == "First"
    assert commit["oid"] in out
    files = {str(path.relative_to(checkpoint)): path for path in checkpoint.rglob("*") if path.is_file()}
    assert set(commit["files"]) == set(files)
    for name, path in files.items():
        assert server.read_file(REPO, name) == path.read_bytes(), name
    assert f'repo = "{REPO}"' in server.read_file(REPO, "README.md").decode()

    assert_same_as_here(open_all(REPO, hub_environment(server, tmp_path / "reader")))


@pytest.mark.slow
def test_second_push_removes_what_is_gone(server: HubServer, tmp_path: Path) -> None:
    environment = hub_environment(server, tmp_path / "home")
    folder = write_tiny(tmp_path / "c")
    assert push(folder, environment)[0] == 0
    first = set(server.commits(REPO)[0]["files"])
    (folder / ".eval_results" / "ctxzoo-data--squad_v2_mini.yaml").unlink()
    assert push(folder, environment)[0] == 0
    second = server.commits(REPO)[1]
    assert (second["files"], second["deleted"]) == ([], [".eval_results/ctxzoo-data--squad_v2_mini.yaml"])
    assert set(second["deleted"]) < first
    assert len(server.commits(REPO)) == 2


@pytest.mark.slow
def test_unfit_folder_sends_nothing(server: HubServer, checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "optimizer.pt").write_bytes(b"")
    status, out, err = push(checkpoint, hub_environment(server, tmp_path / "home"))
    assert (status, out) == (2, "")
    assert "optimizer.pt" in err
    assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"HF_TOKEN": ""}, "no Hub token: log in with `hf auth login`"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "http://127.0.0.1:9 cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "offline mode; unset HF_HUB_OFFLINE"),
    ],
)
def test_reason_is_one_line(
    server: HubServer, checkpoint: Path, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    before = (checkpoint / "README.md").read_bytes()
    status, out, err = push(checkpoint, {**hub_environment(server, tmp_path / "home"), **changes})
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert message in err
    assert (checkpoint / "README.md").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(("status", "message"), [(401, "did not accept the token"), (403, "may not write to someone")])
def test_refusal_of_the_hub(
    server: HubServer,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    message: str,
) -> None:
    def refuse(self: HubServer, request: hub_server.Request) -> hub_server.Reply:
        raise hub_server.HubError(status, "no rights")

    monkeypatch.setattr(HubServer, "_create_repository", refuse)
    ended, out, err = push(checkpoint, hub_environment(server, tmp_path / "home"))
    assert (ended, out) == (2, "")
    assert message in err
    assert "no rights" in err


def test_repository_needs_a_namespace(checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="'tiny' is no repository; expected user-or-organisation/name"):
        push_folder(checkpoint, "tiny")
