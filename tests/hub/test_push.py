"""Pushing to a loopback Hub with the real client, and loading from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, constants

from ctxzoo.cli.main import main
from ctxzoo.hub import push as push_module
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.hub.push import push_folder
from ctxzoo.hub.repository import HubError
from tests.support import hub_server
from tests.support.doors import assert_same_as_here, open_all
from tests.support.hub_server import HubServer, hub_environment
from tests.support.warm_python import run_warm

REPO = "someone/bidaf-tiny"
SCORES = ".eval_results/ctxzoo-data--squad_v2_mini.yaml"


@pytest.mark.slow
def test_pushed_in_one_commit_each_and_opened_from_there(server: HubServer, checkpoint: Path, tmp_path: Path) -> None:
    code = f"""
        from pathlib import Path
        from ctxzoo.cli.main import main
        folder = {str(checkpoint)!r}
        assert main(["push", folder, {REPO!r}, "--message", "First"]) == 0
        Path(folder, {SCORES!r}).unlink()
        assert main(["push", folder, {REPO!r}]) == 0
    """
    env = hub_environment(server, tmp_path / "home")
    finished = run_warm(code, env=env)

    first, second = server.commits(REPO)
    assert first["message"] == "First"
    assert [line.rsplit("/", 1)[-1] for line in finished.stdout.split()] == [first["oid"], second["oid"]]
    files = {path.relative_to(checkpoint).as_posix(): path for path in checkpoint.rglob("*") if path.is_file()}
    assert set(first["files"]) == {*files, SCORES}
    for name, path in files.items():
        assert server.read_file(REPO, name, first["oid"]) == path.read_bytes(), name
    assert f'repo = "{REPO}"' in (checkpoint / "README.md").read_text()
    # What the folder no longer has goes, the rest stays.
    assert (second["files"], second["deleted"]) == ([], [SCORES])

    assert_same_as_here(open_all(REPO, env))


def test_unfit_folder_sends_nothing(here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkpoint / "optimizer.pt").write_bytes(b"")
    assert main(["push", str(checkpoint), REPO]) == 2
    assert "optimizer.pt" in capsys.readouterr().err
    assert here.requests == []


def test_exactly_the_checked_files_are_sent(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that appears after the check, or is kept by the Hub itself, is not sent."""
    (checkpoint / ".gitattributes").write_text("*.py filter=lfs\n")
    checked = check_checkpoint_folder(checkpoint)

    def check(folder: Path) -> list[str]:
        found = check_checkpoint_folder(folder)
        (Path(folder) / ".env").write_text("HF_TOKEN=secret")
        return found

    monkeypatch.setattr(push_module, "check_checkpoint_folder", check)
    assert main(["push", str(checkpoint), REPO]) == 0
    (commit,) = here.commits(REPO)
    assert commit["files"] == [name for name in checked if name != ".gitattributes"]
    assert capsys.readouterr().out.strip().endswith(commit["oid"])


def test_what_was_checked_is_sent_though_the_folder_changes(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights and the code of the folder are replaced behind the last check; the checked ones are sent."""
    checked = {name: (checkpoint / name).read_bytes() for name in check_checkpoint_folder(checkpoint)}
    real = push_module.set_repo_id

    def meanwhile(card: str, repo_id: str) -> str:
        for name in ("model.safetensors", "modeling_bidaf.py"):
            (checkpoint / name).write_bytes(b"something else")
        return real(card, repo_id)

    monkeypatch.setattr(push_module, "set_repo_id", meanwhile)
    push_folder(checkpoint, REPO)
    for name in ("model.safetensors", "modeling_bidaf.py"):
        assert here.read_file(REPO, name) == checked[name]
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]  # the copy is gone


def put(repo: str, files: dict[str, str]) -> None:
    api = HfApi()
    api.create_repo(repo, exist_ok=True)
    api.create_commit(repo, [CommitOperationAdd(n, t.encode()) for n, t in files.items()], commit_message="theirs")


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.txt": "years of work"},
        {"README.md": "---\nlicense: mit\n---\n# My thesis\n"},
        {"README.md": "---\nlicense: mit\n---\n", "data.csv": "a,b"},
        {"config.json": '{"model_type": "bert"}'},
        {"config.json": "[" * 100_000},
        {"config.json": "[]", "thesis.txt": "ctxzoo_bidaf"},
        {"sub/config.json": '{"model_type": "ctxzoo_bidaf"}'},
        {"config.json": '{"model_type": "ctxzoo_bidaf"}', "my_ops.py": "", "thesis.txt": "years of work"},
        {"config.json": '{"model_type": "ctxzoo_bidaf"}', "notes/modeling_x.py": "", "weights.old": ""},
    ],
)
def test_a_repository_of_something_else_is_kept(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    put(REPO, files)
    before = (checkpoint / "README.md").read_bytes()
    assert main(["push", str(checkpoint), REPO]) == 2
    said = capsys.readouterr().err
    foreign = sorted(set(files) - {"config.json"}) if "ctxzoo" in files.get("config.json", "") else sorted(files)
    assert f"{REPO} holds {', '.join(foreign)}, which no ctxzoo wrote and the upload would delete" in said
    assert "--replace" in said
    assert [commit["message"] for commit in here.commits(REPO)] == ["theirs"]
    assert (checkpoint / "README.md").read_bytes() == before

    assert main(["push", str(checkpoint), REPO, "--replace"]) == 0
    assert set(here.commits(REPO)[1]["deleted"]) == {*files} - {"README.md", "config.json"}


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "---\nlicense: mit\n---\n"},
        {
            "config.json": '{"model_type": "ctxzoo_of_the_future"}',
            "layers_of_the_future.py": "",
            ".eval_results/a--b.yaml": "",
        },
    ],
)
def test_a_new_repository_or_one_of_ours_is_renewed(here: HubServer, checkpoint: Path, files: dict[str, str]) -> None:
    put(REPO, files)
    push_folder(checkpoint, REPO)
    assert here.commits(REPO)[1]["deleted"] == sorted({*files} - {"README.md", "config.json"})


def test_a_branch_is_made_where_it_is_missing_and_main_stays(here: HubServer, checkpoint: Path) -> None:
    push_folder(checkpoint, REPO)
    (first,) = here.commits(REPO)
    (checkpoint / SCORES).unlink()
    assert main(["push", str(checkpoint), REPO, "--revision", "trial", "--message", "Without scores"]) == 0
    assert main(["push", str(checkpoint), REPO, "--revision", "trial", "--message", "Again"]) == 0
    assert here.commits(REPO) == [first]
    begun, without, *_ = here.commits(REPO, "trial")
    assert begun == first  # a branch begins where main is
    assert (without["message"], without["files"], without["deleted"]) == ("Without scores", [], [SCORES])
    assert here.read_file(REPO, SCORES)
    with pytest.raises(hub_server.HubError, match="Entry not found"):
        here.read_file(REPO, SCORES, "trial")


def test_what_another_branch_holds_does_not_count(here: HubServer, checkpoint: Path) -> None:
    """Each branch is looked at by itself before its files are replaced."""
    put(REPO, {"thesis.txt": "years of work"})
    HfApi().create_branch(REPO, branch="ours")
    push_folder(checkpoint, REPO, revision="ours", replace=True)
    push_folder(checkpoint, REPO, revision="ours")
    with pytest.raises(FileExistsError, match=r"holds thesis\.txt, which no ctxzoo wrote"):
        push_folder(checkpoint, REPO)
    assert here.read_file(REPO, "thesis.txt") == b"years of work"


def test_what_came_between_look_and_upload_is_kept(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = push_module.set_repo_id

    def meanwhile(card: str, repo_id: str) -> str:
        put(REPO, {"thesis.txt": "years of work"})
        return real(card, repo_id)

    monkeypatch.setattr(push_module, "set_repo_id", meanwhile)
    with pytest.raises(HubError, match="A commit has happened since"):
        push_folder(checkpoint, REPO)
    assert here.read_file(REPO, "thesis.txt") == b"years of work"


def test_no_token(here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "absent")
    with pytest.raises(HubError, match="no Hub token: log in with `hf auth login`"):
        push_folder(checkpoint, REPO)
    assert here.requests == []


def test_no_network(here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the discard port, where nothing listens
    before = (checkpoint / "README.md").read_bytes()
    with pytest.raises(HubError, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        push_folder(checkpoint, REPO)
    assert (checkpoint / "README.md").read_bytes() == before


def test_offline_mode(here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="offline mode; unset HF_HUB_OFFLINE"):
        push_folder(checkpoint, REPO)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "did not accept the token"),
        (403, "the token may not write to someone/bidaf-tiny"),
        (500, "refused the upload to someone/bidaf-tiny with status 500"),
    ],
)
def test_refusal_is_one_line(
    here: HubServer,
    checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    message: str,
) -> None:
    reply = hub_server.HubError(status, "no rights").reply
    monkeypatch.setattr(here, "answer", lambda method, path, request: reply)
    assert main(["push", str(checkpoint), REPO]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert message in captured.err
    assert "no rights" in captured.err


@pytest.mark.parametrize("repo", ["tiny", "a/b/c", "a b/c", ""])
def test_repository_needs_a_namespace(checkpoint: Path, repo: str) -> None:
    with pytest.raises(ValueError, match="is no repository; expected user-or-organisation/name"):
        push_folder(checkpoint, repo)
