"""The loopback Hub against the real client, and the subprocess helper that its tests run in."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.support.hub_server import HubServer, hub_environment
from tests.support.subprocesses import REPOSITORY_ROOT, run_python

REPO = "someone/tiny"
WITH_TOKEN = {"Authorization": "Bearer dummy"}


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


def call(
    server: HubServer, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes, Any]:
    """Status, body and headers of one plain HTTP request; a body that is not bytes is sent as JSON."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    request = Request(server.url + path, data=body, headers=WITH_TOKEN if headers is None else headers, method=method)
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=10) as response:
            return response.status, response.read(), response.headers
    except HTTPError as error:
        return error.code, error.read(), error.headers


def create(server: HubServer) -> None:
    assert call(server, "POST", "/api/repos/create", {"name": "tiny", "organization": "someone"})[0] == 200


def commit(server: HubServer, *operations: tuple[str, dict[str, Any]], **header: str) -> tuple[int, Any, Any]:
    lines = [("header", {"summary": "change", **header}), *operations]
    body = b"".join(json.dumps({"key": key, "value": value}).encode() + b"\n" for key, value in lines)
    status, answer, headers = call(server, "POST", f"/api/models/{REPO}/commit/main", body)
    return status, json.loads(answer), headers


def text_file(path: str, content: bytes) -> tuple[str, dict[str, Any]]:
    return "file", {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}


# A custom model in two files, in a package that only the uploading process can import.
PACKAGE = {
    "__init__.py": "",
    "configuration_tiny.py": """
        from transformers import PreTrainedConfig

        class TinyConfig(PreTrainedConfig):
            model_type = "loopback_tiny"
            hidden_size: int = 3
    """,
    "modeling_tiny.py": """
        import torch
        from torch import nn
        from transformers import PreTrainedModel
        from .configuration_tiny import TinyConfig

        class TinyModel(PreTrainedModel):
            config: TinyConfig
            base_model_prefix = "model"

            def __init__(self, config: TinyConfig) -> None:
                super().__init__(config)
                self.projection = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
                self.post_init()

            def forward(self, features: torch.Tensor) -> torch.Tensor:
                return self.projection(features)
    """,
}

UPLOAD = """
    from pathlib import Path
    import torch
    from huggingface_hub import HfApi, ModelCard, ModelCardData
    from tinyzoo.configuration_tiny import TinyConfig
    from tinyzoo.modeling_tiny import TinyModel

    TinyConfig.register_for_auto_class()
    TinyModel.register_for_auto_class("AutoModel")
    model = TinyModel(TinyConfig(hidden_size=3))
    metadata = ModelCardData(license="mit", pipeline_tag="feature-extraction").to_yaml()
    card = ModelCard(f"---\\n{metadata}\\n---\\n# Tiny")
    api = HfApi()
    api.create_repo("someone/tiny")
    api.create_repo("someone/tiny", exist_ok=True)

    def publish(value: float, message: str, **options) -> str:
        torch.nn.init.constant_(model.projection.weight, value)
        model.save_pretrained("checkpoint")
        card.save("checkpoint/README.md")
        folder = {"repo_id": "someone/tiny", "folder_path": "checkpoint"}
        return api.upload_folder(**folder, commit_message=message, **options).oid

    Path("checkpoint/notes").mkdir(parents=True)
    Path("checkpoint/notes/first.txt").write_text("first")
    first = publish(1.0, "First weights")
    Path("checkpoint/notes/first.txt").unlink()
    second = publish(2.0, "Second weights", delete_patterns="notes/*")
    unchanged = publish(2.0, "Nothing new")
    print(first, second, unchanged)
"""

LOAD_FROM_HUB = """
    import json
    from pathlib import Path
    import torch
    from huggingface_hub import HfApi, ModelCard, snapshot_download
    from transformers import AutoModel

    def raised(action) -> str:
        try:
            action()
        except Exception as error:
            return type(error).__name__
        return "nothing"

    api, repo, first = HfApi(), "someone/tiny", "FIRST"
    try:
        import tinyzoo
    except ModuleNotFoundError:
        pass
    else:
        raise SystemExit("the package is importable here, so loading would prove nothing")
    latest = AutoModel.from_pretrained(repo, trust_remote_code=True)
    pinned = AutoModel.from_pretrained(repo, trust_remote_code=True, revision=first)
    snapshot = Path(snapshot_download(repo, revision=first))
    card = ModelCard.load(repo)
    report = {
        "module": type(latest).__module__,
        "latest": latest(torch.ones(1, 3)).tolist(),
        "pinned": pinned(torch.ones(1, 3)).tolist(),
        "snapshot": sorted(str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()),
        "note": (snapshot / "notes/first.txt").read_text(),
        "files": sorted(api.list_repo_files(repo)),
        "card": [card.data.license, card.text.strip()],
        "pipeline_tag": api.model_info(repo).pipeline_tag,
        "sizes": {s.rfilename: s.size for s in api.model_info(repo, files_metadata=True).siblings},
        "missing_repo": raised(lambda: api.model_info("someone/absent")),
        "missing_repo_file": raised(lambda: api.hf_hub_download("someone/absent", "config.json")),
        "missing_file": raised(lambda: api.hf_hub_download(repo, "absent.json")),
        "missing_revision": raised(lambda: api.hf_hub_download(repo, "config.json", revision="0" * 40)),
        "missing_model": raised(lambda: AutoModel.from_pretrained("someone/absent")),
        "exists": [api.file_exists(repo, "notes/first.txt"), api.file_exists(repo, "config.json")],
    }
    print(json.dumps(report))
"""

LOAD_OFFLINE = """
    import torch
    from transformers import AutoModel

    for options in ({}, {"revision": "FIRST"}):
        model = AutoModel.from_pretrained("someone/tiny", trust_remote_code=True, **options)
        print(model(torch.ones(1, 3))[0, 0].item())
"""


@pytest.mark.slow
def test_real_client_uploads_loads_pins_and_reloads_offline(server: HubServer, tmp_path: Path) -> None:
    (tmp_path / "tinyzoo").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "tinyzoo" / name).write_text(textwrap.dedent(text))
    uploaded = run_python(UPLOAD, env=hub_environment(server, tmp_path / "uploader"), cwd=tmp_path)
    first, second, unchanged = uploaded.stdout.split()

    commits = server.commits(REPO)
    assert [(one["oid"], one["message"]) for one in commits] == [(first, "First weights"), (second, "Second weights")]
    assert unchanged == second
    model_files = ["README.md", "config.json", "configuration_tiny.py", "model.safetensors", "modeling_tiny.py"]
    assert commits[0]["files"] == [*model_files, "notes/first.txt"]
    assert (commits[1]["files"], commits[1]["deleted"]) == (["model.safetensors"], ["notes/first.txt"])
    weights = (tmp_path / "checkpoint" / "model.safetensors").read_bytes()
    assert server.read_file(REPO, "model.safetensors") == weights
    assert server.read_file(REPO, "model.safetensors", first) != weights
    assert any(request.method == "PUT" and request.path.startswith("/lfs/") for request in server.requests)

    environment = hub_environment(server, tmp_path / "reader")
    loaded = run_python(LOAD_FROM_HUB.replace("FIRST", first), env=environment, without_ctxzoo=True)
    report = json.loads(loaded.stdout.splitlines()[-1])
    assert report["module"].startswith("transformers_modules.")
    assert (report["latest"], report["pinned"]) == ([[6.0, 6.0, 6.0]], [[3.0, 3.0, 3.0]])
    assert report["files"] == [".gitattributes", *model_files]
    assert report["snapshot"] == [".gitattributes", *model_files, "notes/first.txt"]
    assert report["note"] == "first"
    assert report["card"] == ["mit", "# Tiny"]
    assert report["pipeline_tag"] == "feature-extraction"
    assert report["sizes"]["model.safetensors"] == len(weights)
    assert report["missing_repo"] == report["missing_repo_file"] == "RepositoryNotFoundError"
    assert report["missing_file"] == "RemoteEntryNotFoundError"
    assert report["missing_revision"] == "RevisionNotFoundError"
    assert report["missing_model"] == "OSError"
    assert report["exists"] == [False, True]

    answered = len(server.requests)
    offline = run_python(
        LOAD_OFFLINE.replace("FIRST", first), env={**environment, "HF_HUB_OFFLINE": "1"}, without_ctxzoo=True
    )
    assert offline.stdout.split() == ["6.0", "3.0"]
    assert len(server.requests) == answered


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/repos/create"),
        ("POST", f"/api/models/{REPO}/preupload/main"),
        ("POST", f"/api/models/{REPO}/commit/main"),
        ("POST", f"/{REPO}.git/info/lfs/objects/batch"),
        ("GET", "/api/whoami-v2"),
    ],
)
def test_writing_needs_a_token(server: HubServer, method: str, path: str) -> None:
    create(server)
    assert call(server, method, path, {} if method == "POST" else None, headers={})[0] == 401
    assert server.commits(REPO) == []
    assert server.requests[-1] == (method, path, 401)


def test_lfs_upload_must_be_announced_and_match_its_hash(server: HubServer) -> None:
    create(server)
    content = b"some weights"
    oid = hashlib.sha256(content).hexdigest()
    lfs_file = ("lfsFile", {"path": "model.safetensors", "algo": "sha256", "oid": oid, "size": len(content)})
    assert call(server, "PUT", f"/lfs/{oid}", content)[0] == 403
    batch = {"operation": "upload", "objects": [{"oid": oid, "size": len(content)}]}
    (answer,) = json.loads(call(server, "POST", f"/{REPO}.git/info/lfs/objects/batch", batch)[1])["objects"]
    assert answer["actions"]["upload"]["href"] == f"{server.url}/lfs/{oid}"
    assert call(server, "PUT", f"/lfs/{oid}", b"others")[0] == 400
    status, message, _ = commit(server, lfs_file)
    assert (status, oid in message["error"]) == (400, True)
    assert call(server, "PUT", f"/lfs/{oid}", content)[0] == 200
    assert commit(server, lfs_file)[0] == 200
    (again,) = json.loads(call(server, "POST", f"/{REPO}.git/info/lfs/objects/batch", batch)[1])["objects"]
    assert "actions" not in again
    assert call(server, "GET", f"/{REPO}/resolve/main/model.safetensors")[1] == content


def test_etag_of_a_text_file_is_its_git_name(server: HubServer) -> None:
    create(server)
    oid = commit(server, text_file("a b.txt", b"hello\n"))[1]["commitOid"]
    status, body, headers = call(server, "HEAD", f"/{REPO}/resolve/main/a%20b.txt", headers={})
    assert (status, body, headers["Content-Length"], headers["X-Repo-Commit"]) == (200, b"", "6", oid)
    assert headers["ETag"] == '"ce013625030ba8dba906f756967f9e9ca394464a"'  # `echo hello | git hash-object --stdin`


@pytest.mark.parametrize(
    ("requested", "status", "body", "content_range"),
    [
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=2-3", 206, b"23", "bytes 2-3/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
    ],
)
def test_byte_ranges(server: HubServer, requested: str, status: int, body: bytes, content_range: str) -> None:
    create(server)
    commit(server, text_file("digits", b"0123456789"))
    answer = call(server, "GET", f"/{REPO}/resolve/main/digits", headers={"Range": requested})
    assert (*answer[:2], answer[2]["Content-Range"]) == (status, body, content_range)


def test_range_beyond_the_end_is_refused(server: HubServer) -> None:
    create(server)
    commit(server, text_file("digits", b"0123456789"))
    status, _, headers = call(server, "GET", f"/{REPO}/resolve/main/digits", headers={"Range": "bytes=10-"})
    assert (status, headers["Content-Range"]) == (416, "bytes */10")


def test_commit_that_fails_changes_nothing(server: HubServer) -> None:
    create(server)
    head = commit(server, text_file("kept.txt", b"kept"))[1]["commitOid"]
    other = text_file("other.txt", b"other")
    missing = commit(server, other, ("deletedFile", {"path": "absent.txt"}))
    assert (missing[0], missing[2]["X-Error-Code"]) == (404, "EntryNotFound")
    assert commit(server, other, text_file("../escape.txt", b""))[0] == 400
    assert commit(server, other, ("renamed", {"path": "kept.txt"}))[0] == 400
    assert commit(server, other, parentCommit="0" * 40)[0] == 412
    assert [one["oid"] for one in server.commits(REPO)] == [head]
    assert commit(server, other, parentCommit=head)[0] == 200


def test_folder_is_deleted_without_its_namesakes(server: HubServer) -> None:
    create(server)
    commit(server, *(text_file(path, path.encode()) for path in ("run/a", "run/b/c", "run.txt", "running/a")))
    assert commit(server, ("deletedFolder", {"path": "run/"}))[0] == 200
    assert server.commits(REPO)[-1]["deleted"] == ["run/a", "run/b/c"]
    assert call(server, "GET", f"/{REPO}/resolve/main/running/a")[1] == b"running/a"


def test_tree_of_a_folder(server: HubServer) -> None:
    create(server)
    commit(server, *(text_file(path, b"x") for path in ("run/a", "run/b/c", "top")))

    def paths(suffix: str) -> list[tuple[str, str]]:
        listing = json.loads(call(server, "GET", f"/api/models/{REPO}/tree/main{suffix}", headers={})[1])
        return sorted((entry["type"], entry["path"]) for entry in listing)

    assert paths("") == [("directory", "run"), ("file", ".gitattributes"), ("file", "top")]
    assert paths("/run?recursive=true") == [("directory", "run/b"), ("file", "run/a"), ("file", "run/b/c")]
    status, _, headers = call(server, "GET", f"/api/models/{REPO}/tree/main/absent", headers={})
    assert (status, headers["X-Error-Code"]) == (404, "EntryNotFound")


@pytest.mark.parametrize("card", ["---\nlicense: [mit\n---\n", "---\n- mit\n---\n"])
def test_broken_card_metadata_is_refused(server: HubServer, card: str) -> None:
    status, body, _ = call(server, "POST", "/api/validate-yaml", {"content": card, "repoType": "model"})
    assert (status, len(json.loads(body)["errors"])) == (400, 1)


def test_given_folder_holds_contents_by_hash_only(tmp_path: Path) -> None:
    with HubServer(tmp_path / "blobs") as server:
        create(server)
        commit(server, text_file("a/name.txt", b"content"))
    stored = {path.name: path.read_bytes() for path in (tmp_path / "blobs").iterdir()}
    assert stored.pop(hashlib.sha256(b"content").hexdigest()) == b"content"
    assert [b"filter=lfs" in content for content in stored.values()] == [True]


def test_environment_hides_the_hub_settings_of_this_process(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "TRANSFORMERS_OFFLINE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "1")
    environment = hub_environment(server, tmp_path)
    assert {name for name in environment if name.startswith(("HF_", "HUGGING", "TRANSFORMERS"))} == {
        "HF_ENDPOINT",
        "HF_HOME",
        "HF_TOKEN",
        "HF_HUB_DISABLE_XET",
        "HF_HUB_DISABLE_TELEMETRY",
        "HF_HUB_DISABLE_PROGRESS_BARS",
    }
    assert environment["HF_ENDPOINT"] == server.url
    assert environment["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("name", ["ctxzoo", "ctxzoo.models"])
def test_ctxzoo_is_hidden_even_in_its_own_repository(name: str) -> None:
    code = f"""
        from __future__ import annotations
        try:
            import {name}
        except ImportError as error:
            print(error)
    """
    # The folder on the path stands for an editable installation.
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY_ROOT)}
    finished = run_python(code, without_ctxzoo=True, cwd=REPOSITORY_ROOT, env=environment)
    assert finished.stdout.strip() == "ctxzoo is hidden from this process"


def test_ctxzoo_is_found_unless_hidden() -> None:
    finished = run_python("import importlib.util; print(importlib.util.find_spec('ctxzoo').name)")
    assert finished.stdout.strip() == "ctxzoo"


def test_failing_program_shows_its_output_and_line() -> None:
    code = """
        print("before the failure")
        raise ValueError("the reason")
    """
    with pytest.raises(AssertionError, match=r"(?s)status 1.*before the failure.*raise ValueError.*the reason"):
        run_python(code)


def test_subprocess_runs_one_thread_in_the_given_environment() -> None:
    code = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ.get('MARK'), 'HOME' in os.environ)"
    assert run_python(code, env={"MARK": "x", "OMP_NUM_THREADS": "7"}).stdout.split() == ["1", "x", "False"]
