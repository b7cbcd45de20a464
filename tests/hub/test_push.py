"""Pushing to a loopback Hub with the real client, and loading from there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, ModelCard, constants

from ctxzoo.cli.main import main
from ctxzoo.hub import push as push_module
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.hub.push import push_folder
from ctxzoo.hub.repository import HubError
from tests.support import hub_server
from tests.support.doors import assert_same_as_here, open_all
from tests.support.hub_server import HubServer, hub_environment
from tests.support.tiny_checkpoint import tiny_model, tiny_tokenizer
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
    with pytest.raises(HubError, match=r"was changed while this was sent \(A commit has happened since.*push again"):
        push_folder(checkpoint, REPO)
    assert here.read_file(REPO, "thesis.txt") == b"years of work"


class FirstRequestsFail:
    """The first requests of a method to paths with such a part fail."""

    def __init__(self, method: str, part: str, fault: str | int, times: int) -> None:
        self.method, self.part, self.fault, self.times = method, part, fault, times

    def __call__(self, method: str, path: str) -> str | int | None:
        if method != self.method or self.part not in path or self.times == 0:
            return None
        self.times -= 1
        return self.fault


@pytest.mark.parametrize(
    ("method", "part", "fault"),
    [("PUT", "/lfs/", "cut"), ("PUT", "/lfs/", 500), ("POST", "/commit/", 503), ("POST", "/commit/", "cut")],
)
def test_what_fails_for_a_moment_is_tried_again(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, method: str, part: str, fault: str | int
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    here.fault = FirstRequestsFail(method, part, fault, 2)
    push_folder(checkpoint, REPO)
    assert here.fault.times == 0
    assert len(here.commits(REPO)) == 1
    assert main(["verify", REPO]) == 0


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    here.fault = FirstRequestsFail("POST", "/commit/", "lost", 1)
    url = push_folder(checkpoint, REPO)
    assert [url.rsplit("/", 1)[-1]] == [commit["oid"] for commit in here.commits(REPO)]


@pytest.mark.parametrize(
    ("method", "part", "fault", "message"),
    [
        (
            "PUT",
            "/lfs/",
            "cut",
            f"Error while uploading 'model.safetensors' to the Hub (.*); {REPO} is as it was: push",
        ),
        ("PUT", "/lfs/", 403, f"Error while uploading 'model.safetensors' to the Hub (.*); {REPO} is as it was: push"),
        ("POST", "/commit/", 500, f"refused the upload to {REPO} with status 500: out of order; try again later"),
        ("POST", "/commit/", 409, f"{REPO} was changed while this was sent .out of order., and is as that change left"),
    ],
)
def test_a_broken_upload_publishes_nothing_and_goes_on_the_next_time(
    here: HubServer,
    checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    method: str,
    part: str,
    fault: str | int,
    message: str,
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    before = (checkpoint / "README.md").read_bytes()
    here.fault = FirstRequestsFail(method, part, fault, 100)
    assert main(["push", str(checkpoint), REPO]) == 2
    said = capsys.readouterr()
    assert re.search(message, said.err)
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert here.commits(REPO) == []
    assert (checkpoint / "README.md").read_bytes() == before
    here.fault = lambda method, path: None
    assert main(["push", str(checkpoint), REPO]) == 0
    assert main(["verify", REPO]) == 0


def test_a_file_that_the_hub_keeps_short_is_named(
    here: HubServer, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = here._store_blob

    def store_short(content: bytes, *, is_lfs: bool) -> hub_server.StoredFile:
        stored = real(content, is_lfs=is_lfs)
        if is_lfs:
            here._blob_path(stored.sha256).write_bytes(content[:-1])
        return stored

    monkeypatch.setattr(here, "_store_blob", store_short)
    with pytest.raises(HubError, match=r"is not what was sent: model\.safetensors has [\d,]+ bytes there"):
        push_folder(checkpoint, REPO)


def test_a_tag_names_the_commit_once(here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["push", str(checkpoint), REPO, "--tag", "v1"]) == 0
    (first,) = here.commits(REPO)
    (checkpoint / SCORES).unlink()
    assert main(["push", str(checkpoint), REPO, "--tag", "v1"]) == 2
    assert f"{REPO} has a tag v1 already, of the commit {first['oid'][:12]}" in capsys.readouterr().err
    assert main(["push", str(checkpoint), REPO, "--tag", "v2"]) == 0
    assert here.read_file(REPO, SCORES, "v1")
    assert [one["oid"] for one in here.commits(REPO)][1:] == [HfApi().model_info(REPO, revision="v2").sha]


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


def test_a_model_pushes_itself_with_a_card_that_says_what_it_is(here: HubServer, tmp_path: Path) -> None:
    tiny_tokenizer().push_to_hub(REPO)  # its card, if any, is that of transformers
    tiny_model().push_to_hub(REPO, tags=["tiny"], commit_message="By itself")
    assert here.commits(REPO)[-1]["message"] == "By itself"
    card = ModelCard(here.read_file(REPO, "README.md").decode())
    assert (card.data.pipeline_tag, card.data.library_name) == ("question-answering", "transformers")
    assert card.data.tags == ["ctxzoo", "bidaf", "tiny"]
    assert "automatically generated" not in card.text
    assert f'ctxzoo.pipeline("{REPO}")' in card.text
    assert "AutoModelForQuestionAnswering" in card.text
    assert main(["verify", REPO]) == 0

    put(REPO, {"README.md": "---\nlicense: mit\ntags: [mine]\n---\n# Mine\n\nMy words.\n"})
    tiny_model().save_pretrained(tmp_path / "saved", push_to_hub=True, repo_id=REPO)
    card = ModelCard(here.read_file(REPO, "README.md").decode())
    assert card.text.strip() == "# Mine\n\nMy words."
    assert (card.data.license, card.data.pipeline_tag) == ("mit", "question-answering")
    assert card.data.tags == ["mine", "ctxzoo", "bidaf"]
