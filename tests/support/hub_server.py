"""A Hugging Face Hub on the loopback interface, for tests of uploading and loading with the unmodified client.

It knows model repositories with branches, "main" first, and tags; every commit stays readable under its hash. Left
out: pull requests, deleting branches and tags, datasets and Spaces, Xet storage, `.gitignore`, long listings.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, NamedTuple, TypedDict
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

USER_NAME = "loopback-user"
LFS_SUFFIXES = (".bin", ".gz", ".npz", ".onnx", ".parquet", ".pt", ".safetensors", ".zip")
REGULAR_FILE_LIMIT = 10 * 2**20  # bytes; a larger file goes through LFS whatever its name

_REMOVED_VARIABLES = ("HF_", "HUGGINGFACE_", "HUGGING_FACE_", "TRANSFORMERS_")
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_BYTE_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class RequestRecord(NamedTuple):
    """One answered request: `path` is as sent, with its query."""

    method: str
    path: str
    status: int


class CommitRecord(TypedDict):
    """A record of what one commit did: `files` are the paths it wrote, `deleted` those it removed, both sorted."""

    oid: str
    message: str
    description: str
    files: list[str]
    deleted: list[str]


class StoredFile(NamedTuple):
    """A file of one commit; its content lies in the blob store under `sha256`."""

    sha256: str
    size: int
    git_oid: str
    is_lfs: bool

    @property
    def content_id(self) -> str:
        """The id that the Hub compares to find whether a file changed, and uses as its ETag."""
        return self.sha256 if self.is_lfs else self.git_oid


@dataclass(frozen=True)
class Commit:
    """A commit with the whole tree after it: path -> file."""

    record: CommitRecord
    tree: dict[str, StoredFile]


@dataclass
class Reply:
    """An HTTP answer to be sent."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_json(cls, value: Any, status: int = 200) -> Reply:
        return cls(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


class HubError(Exception):
    """An answer other than success; `code` becomes the header by which the client picks its exception."""

    def __init__(self, status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.reply = Reply.of_json({"error": message}, status)
        self.reply.headers |= {
            "X-Error-Message": message,
            **({"X-Error-Code": code} if code else {}),
            **(headers or {}),
        }


@dataclass(frozen=True)
class Request:
    """A request with its body read and its path taken apart."""

    headers: Any
    query: dict[str, list[str]]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def has_token(self) -> bool:
        return re.fullmatch(r"Bearer \S+", self.headers.get("Authorization", "")) is not None


class HubServer:
    """The server; it runs between `with HubServer() as server:` and the end of that block.

    Args:
        root: Folder for the contents of files (named by their hash, so that no name a client sends reaches the disk);
            None: a temporary folder, removed at the end. Repositories and commits live in memory only.

    Attributes:
        url: What `HF_ENDPOINT` should be, without a slash at the end.
        requests: Every request answered so far, oldest first.
        fault: What goes wrong with a request, from its method and path: "cut", the connection breaks in the middle of
            its body; "lost", it is carried out and the answer does not arrive; a status; None: nothing.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._temporary_folder = tempfile.TemporaryDirectory() if root is None else None
        self._blobs = Path(self._temporary_folder.name) if self._temporary_folder else Path(root or "")
        self._blobs.mkdir(parents=True, exist_ok=True)
        self._repositories: dict[str, dict[str, list[Commit]]] = {}  # by name and branch
        self._tags: dict[str, dict[str, Commit]] = {}  # by name and tag
        self._expected_uploads: set[str] = set()
        self._lock = threading.RLock()
        self.requests: list[RequestRecord] = []
        self.fault: Callable[[str, str], str | int | None] = lambda method, path: None
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True  # a client that keeps its connection open must not hold up the end
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self._temporary_folder:
            self._temporary_folder.cleanup()

    def commits(self, repo_id: str, branch: str = "main") -> list[CommitRecord]:
        """Commits that clients made, oldest first: the one that creating a repository makes is left out.

        Raises:
            HubError: no such repository or branch.
        """
        with self._lock:
            return [commit.record for commit in self._history(repo_id, branch)[1:]]

    def read_file(self, repo_id: str, path: str, revision: str = "main") -> bytes:
        """Content of a file as the server holds it.

        Raises:
            HubError: no such repository, revision or file.
        """
        with self._lock:
            return self._blob_path(self._stored_file(repo_id, path, revision)[1].sha256).read_bytes()

    def answer(self, method: str, path: str, request: Request) -> Reply:
        """Find the route for a path (still quoted, without its query) and run it."""
        for route_method, pattern, needs_token, respond in _ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method in route_method:
                if needs_token and not request.has_token():
                    raise HubError(401, "Invalid username or password.")
                parts = {name: unquote(value) for name, value in match.groupdict(default="").items()}
                with self._lock:
                    return respond(self, request, **parts)
        raise HubError(404, f"The loopback Hub has no route for {method} {path}")

    # State

    def _branches(self, repo_id: str) -> dict[str, list[Commit]]:
        if repo_id not in self._repositories:
            raise HubError(404, f"Repository not found: {repo_id}", "RepoNotFound")
        return self._repositories[repo_id]

    def _history(self, repo_id: str, branch: str) -> list[Commit]:
        branches = self._branches(repo_id)
        if branch not in branches:
            raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
        return branches[branch]

    def _commit_at(self, repo_id: str, revision: str) -> Commit:
        branches = self._branches(repo_id)
        if revision in branches:
            return branches[revision][-1]
        if revision in self._tags.get(repo_id, {}):
            return self._tags[repo_id][revision]
        for commit in (one for history in branches.values() for one in history):
            if commit.record["oid"] == revision:
                return commit
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def _stored_file(self, repo_id: str, path: str, revision: str) -> tuple[Commit, StoredFile]:
        commit = self._commit_at(repo_id, revision)
        if path not in commit.tree:
            # With the commit in the answer the client remembers that the file is absent, which it needs offline.
            headers = {"X-Repo-Commit": commit.record["oid"]}
            raise HubError(404, f"Entry not found: {path}", "EntryNotFound", headers)
        return commit, commit.tree[path]

    def _blob_path(self, sha256: str) -> Path:
        return self._blobs / sha256

    def _store_blob(self, content: bytes, *, is_lfs: bool) -> StoredFile:
        sha256 = hashlib.sha256(content).hexdigest()
        if not self._blob_path(sha256).exists():
            unfinished = self._blobs / f"{sha256}.part"
            unfinished.write_bytes(content)
            os.replace(unfinished, self._blob_path(sha256))
        return _describe(content, sha256, is_lfs=is_lfs)

    def _append_commit(
        self,
        repo_id: str,
        message: str,
        description: str,
        written: dict[str, StoredFile],
        deleted: set[str],
        branch: str = "main",
    ) -> Commit:
        history = self._repositories.setdefault(repo_id, {}).setdefault(branch, [])
        kept = {path: file for path, file in history[-1].tree.items() if path not in deleted} if history else {}
        tree = dict(sorted({**kept, **written}.items()))
        identity = json.dumps([repo_id, branch, len(history), message, description, tree])
        record = CommitRecord(
            oid=hashlib.sha1(identity.encode()).hexdigest(),
            message=message,
            description=description,
            files=sorted(written),
            deleted=sorted(deleted - set(written)),
        )
        history.append(Commit(record, tree))
        return history[-1]

    # Routes: accounts and repositories

    def _who_am_i(self, request: Request) -> Reply:
        token = {"displayName": "loopback", "role": "write"}
        return Reply.of_json(
            {"type": "user", "name": USER_NAME, "orgs": [], "auth": {"type": "access_token", "accessToken": token}}
        )

    def _create_repository(self, request: Request) -> Reply:
        requested = request.json()
        if requested.get("type", "model") != "model":
            raise HubError(400, f"The loopback Hub holds models only, not {requested['type']!r}")
        repo_id = f"{requested.get('organization') or USER_NAME}/{requested['name']}"
        url = f"{self.url}/{repo_id}"
        if repo_id in self._repositories:
            return Reply.of_json({"error": "You already created this model repo", "url": url}, 409)
        attributes = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LFS_SUFFIXES)
        first_file = self._store_blob(attributes.encode(), is_lfs=False)
        self._append_commit(repo_id, "initial commit", "", {".gitattributes": first_file}, set())
        return Reply.of_json({"url": url, "name": repo_id, "id": repo_id})

    def _create_branch(self, request: Request, repo: str, branch: str) -> Reply:
        branches = self._branches(repo)
        if branch in branches:
            raise HubError(409, f"Reference already exists: refs/heads/{branch}")
        start = self._commit_at(repo, (request.json() if request.body else {}).get("startingPoint", "main"))
        history = next(one for one in branches.values() if start in one)
        branches[branch] = history[: history.index(start) + 1]
        return Reply()

    def _create_tag(self, request: Request, repo: str, revision: str) -> Reply:
        tags, name = self._tags.setdefault(repo, {}), request.json()["tag"]
        if name in tags:
            raise HubError(409, f"Tag already exists: {name}")
        tags[name] = self._commit_at(repo, revision)
        return Reply()

    def _refs(self, request: Request, repo: str) -> Reply:
        def describe(kind: str, name: str, commit: Commit) -> dict[str, str]:
            return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit.record["oid"]}

        branches = [describe("heads", name, history[-1]) for name, history in self._branches(repo).items()]
        tags = [describe("tags", name, commit) for name, commit in self._tags.get(repo, {}).items()]
        return Reply.of_json({"branches": branches, "tags": tags, "converts": [], "pullRequests": []})

    def _validate_yaml(self, request: Request) -> Reply:
        try:
            _card_data(request.json()["content"])
        except (ValueError, yaml.YAMLError) as error:
            return Reply.of_json({"errors": [{"message": str(error)}], "warnings": []}, 400)
        return Reply.of_json({"errors": [], "warnings": []})

    def _model_info(self, request: Request, repo: str, revision: str = "main") -> Reply:
        commit = self._commit_at(repo, revision)
        card_data: dict[str, Any] = {}
        if "README.md" in commit.tree:
            card_data = _card_data(self.read_file(repo, "README.md", commit.record["oid"]).decode())
        with_sizes = request.query.get("blobs", [""])[0].lower() == "true"
        siblings = [
            {"rfilename": path, **(_sibling_details(file) if with_sizes else {})} for path, file in commit.tree.items()
        ]
        info = {
            "id": repo,
            "modelId": repo,
            "sha": commit.record["oid"],
            "private": False,
            "gated": False,
            "disabled": False,
            "tags": card_data.get("tags", []),
            "siblings": siblings,
            "cardData": card_data,
        }
        return Reply.of_json(
            info | {key: card_data[key] for key in ("pipeline_tag", "library_name") if key in card_data}
        )

    def _tree(self, request: Request, repo: str, revision: str, path: str = "") -> Reply:
        commit = self._commit_at(repo, revision)
        recursive = request.query.get("recursive", [""])[0].lower() == "true"
        top = PurePosixPath(path)
        folders = {top_level := PurePosixPath()}
        folders |= {folder for name in commit.tree for folder in PurePosixPath(name).parents}
        if top not in folders:
            raise HubError(404, f"{path} does not exist on {revision}", "EntryNotFound")
        entries: list[dict[str, Any]] = [
            {"type": "directory", "path": str(folder), "oid": hashlib.sha1(str(folder).encode()).hexdigest(), "size": 0}
            for folder in sorted(folders - {top_level})
        ]
        entries += [_tree_entry(name, file) for name, file in commit.tree.items()]
        below = [
            entry
            for entry in entries
            if PurePosixPath(entry["path"]).parent == top or (recursive and top in PurePosixPath(entry["path"]).parents)
        ]
        return Reply.of_json(below)

    # Routes: uploading

    def _preupload(self, request: Request, repo: str, revision: str) -> Reply:
        tree = self._commit_at(repo, revision).tree
        answers = []
        for file in request.json()["files"]:
            path = file["path"]
            is_lfs = path.endswith(LFS_SUFFIXES) or file["size"] > REGULAR_FILE_LIMIT
            answer = {"path": path, "uploadMode": "lfs" if is_lfs else "regular", "shouldIgnore": False}
            answers.append(answer | ({"oid": tree[path].content_id} if path in tree else {}))
        return Reply.of_json({"files": answers})

    def _lfs_batch(self, request: Request, repo: str) -> Reply:
        self._branches(repo)
        answers = []
        for requested in request.json()["objects"]:
            oid, size = requested["oid"], requested["size"]
            answer: dict[str, Any] = {"oid": oid, "size": size}
            if not self._blob_path(_checked_sha256(oid)).exists():
                self._expected_uploads.add(oid)
                answer["actions"] = {"upload": {"href": f"{self.url}/lfs/{oid}", "header": {}}}
            answers.append(answer)
        return Reply.of_json({"transfer": "basic", "objects": answers})

    def _lfs_put(self, request: Request, oid: str) -> Reply:
        # As with a signed address, it is the batch call before it that allows the upload, not a token.
        if oid not in self._expected_uploads:
            raise HubError(403, f"No upload was announced for {oid}")
        received = hashlib.sha256(request.body).hexdigest()
        if received != oid:
            raise HubError(400, f"The content of {oid} has the hash {received}")
        self._store_blob(request.body, is_lfs=True)
        return Reply()

    def _commit(self, request: Request, repo: str, revision: str) -> Reply:
        head = self._commit_at(repo, revision)
        if "create_pr" in request.query:
            raise HubError(400, "The loopback Hub has no pull requests")
        if revision not in self._branches(repo):
            raise HubError(400, f"Only branches take commits, not {revision}")
        header: dict[str, Any] = {}
        written: dict[str, StoredFile] = {}
        deleted: set[str] = set()
        for line in request.body.splitlines():
            operation = json.loads(line)
            key, value = operation["key"], operation["value"]
            if key == "header":
                header = value
            elif key in ("file", "lfsFile"):
                file = self._regular_file(value) if key == "file" else self._lfs_file(value)
                written[_checked_path(value["path"])] = file
            elif key in ("deletedFile", "deletedFolder"):
                deleted |= _deleted_paths(head.tree, value["path"], is_folder=key == "deletedFolder")
            else:
                raise HubError(400, f"Unknown operation in a commit: {key!r}")
        if header.get("parentCommit", head.record["oid"]) != head.record["oid"]:
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        if not header.get("summary"):
            raise HubError(400, "A commit needs a summary")
        commit = self._append_commit(repo, header["summary"], header.get("description", ""), written, deleted, revision)
        oid = commit.record["oid"]
        return Reply.of_json({"success": True, "commitOid": oid, "commitUrl": f"{self.url}/{repo}/commit/{oid}"})

    def _regular_file(self, value: dict[str, Any]) -> StoredFile:
        try:
            content = base64.b64decode(value["content"], validate=True)
        except binascii.Error as error:
            raise HubError(400, f"The content of {value['path']} is not base64: {error}") from error
        return self._store_blob(content, is_lfs=False)

    def _lfs_file(self, value: dict[str, Any]) -> StoredFile:
        blob = self._blob_path(_checked_sha256(value["oid"]))
        if not blob.exists():
            raise HubError(400, f"The LFS content of {value['path']} was never uploaded: {value['oid']}")
        return _describe(blob.read_bytes(), value["oid"], is_lfs=True)

    # Routes: downloading

    def _resolve(self, request: Request, repo: str, revision: str, path: str) -> Reply:
        commit, file = self._stored_file(repo, path, revision)
        content = self._blob_path(file.sha256).read_bytes()
        reply = Reply(200, content, {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes"})
        reply.headers |= {"X-Repo-Commit": commit.record["oid"], "ETag": f'"{file.content_id}"'}
        if file.is_lfs:
            reply.headers |= {"X-Linked-ETag": f'"{file.content_id}"', "X-Linked-Size": str(file.size)}
        requested = _BYTE_RANGE.fullmatch(request.headers.get("Range", ""))
        if requested:
            start, last = int(requested[1]), min(int(requested[2] or file.size - 1), file.size - 1)
            if start > last:
                raise HubError(416, "Range not satisfiable", headers={"Content-Range": f"bytes */{file.size}"})
            reply.status, reply.body = 206, content[start : last + 1]
            reply.headers["Content-Range"] = f"bytes {start}-{last}/{file.size}"
        return reply


_REPO = r"(?P<repo>[^/]+(?:/[^/]+)?)"
_REVISION = r"(?P<revision>[^/]+)"

# (methods, pattern of the quoted path, whether a token is needed, what answers)
_ROUTES: list[tuple[tuple[str, ...], str, bool, Callable[..., Reply]]] = [
    (("GET",), r"/api/whoami-v2", True, HubServer._who_am_i),
    (("POST",), r"/api/repos/create", True, HubServer._create_repository),
    (("POST",), r"/api/validate-yaml", False, HubServer._validate_yaml),
    (("POST",), rf"/api/models/{_REPO}/preupload/{_REVISION}", True, HubServer._preupload),
    (("POST",), rf"/api/models/{_REPO}/commit/{_REVISION}", True, HubServer._commit),
    (("POST",), rf"/api/models/{_REPO}/branch/(?P<branch>[^/]+)", True, HubServer._create_branch),
    (("POST",), rf"/api/models/{_REPO}/tag/{_REVISION}", True, HubServer._create_tag),
    (("GET",), rf"/api/models/{_REPO}/refs", False, HubServer._refs),
    (("GET",), rf"/api/models/{_REPO}/tree/{_REVISION}(?:/(?P<path>.+))?", False, HubServer._tree),
    (("GET",), rf"/api/models/{_REPO}/revision/{_REVISION}", False, HubServer._model_info),
    (("GET",), rf"/api/models/{_REPO}", False, HubServer._model_info),
    (("POST",), rf"/{_REPO}\.git/info/lfs/objects/batch", True, HubServer._lfs_batch),
    (("PUT",), r"/lfs/(?P<oid>[0-9a-f]{64})", False, HubServer._lfs_put),
    (("GET", "HEAD"), rf"/{_REPO}/resolve/{_REVISION}/(?P<path>.+)", False, HubServer._resolve),
]


def hub_environment(server: HubServer, cache_dir: str | os.PathLike[str]) -> dict[str, str]:
    """The environment in which a subprocess takes `server` for the Hub and keeps its caches in `cache_dir`.

    It is that of this process without any Hub setting of its own (a token, a cache, offline mode). The client reads it
    when it is imported, so it has no effect on a process that runs already.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED_VARIABLES)}
    return {
        **inherited,
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(cache_dir),
        "HF_TOKEN": "dummy",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def _describe(content: bytes, sha256: str, *, is_lfs: bool) -> StoredFile:
    # Git names a blob by the SHA-1 of a short header and the content; of an LFS file it holds only a pointer.
    tracked = _lfs_pointer(sha256, len(content)) if is_lfs else content
    git_oid = hashlib.sha1(b"blob %d\0" % len(tracked) + tracked).hexdigest()
    return StoredFile(sha256, len(content), git_oid, is_lfs)


def _lfs_pointer(sha256: str, size: int) -> bytes:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def _tree_entry(path: str, file: StoredFile) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "oid": file.git_oid, "size": file.size}
    if file.is_lfs:
        pointer_size = len(_lfs_pointer(file.sha256, file.size))
        entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": pointer_size}
    return entry


def _sibling_details(file: StoredFile) -> dict[str, Any]:
    details: dict[str, Any] = {"size": file.size, "blobId": file.git_oid}
    if file.is_lfs:
        pointer_size = len(_lfs_pointer(file.sha256, file.size))
        details["lfs"] = {"sha256": file.sha256, "size": file.size, "pointerSize": pointer_size}
    return details


def _card_data(card: str) -> dict[str, Any]:
    front_matter = _FRONT_MATTER.match(card.replace("\r\n", "\n"))
    data = yaml.safe_load(front_matter[1]) if front_matter else None
    if data is not None and not isinstance(data, dict):
        raise ValueError(f"The metadata of a card should be a mapping, not {data!r}")
    return data or {}


def _checked_sha256(oid: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", oid):
        raise HubError(400, f"Not a SHA-256 in hexadecimal digits: {oid!r}")
    return oid


def _checked_path(path: str) -> str:
    if not path or any(part in ("", ".", "..") for part in path.split("/")):
        raise HubError(400, f"Not a path inside a repository: {path!r}")
    return path


def _deleted_paths(tree: dict[str, StoredFile], path: str, *, is_folder: bool) -> set[str]:
    found = {name for name in tree if (name.startswith(path.rstrip("/") + "/") if is_folder else name == path)}
    if not found:
        raise HubError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
    return found


def _handler_for(hub: HubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # one packet for headers and body

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet: `HubServer.requests` is the log."""

        def _handle(self) -> None:
            address = urlsplit(self.path)
            fault = hub.fault(self.command, address.path)
            if fault == "cut":
                self.rfile.read(int(self.headers.get("Content-Length", 0)) // 2)
                self.close_connection = True
                return
            body = self._read_body()  # also of a request that is refused, or the next one would start inside it
            try:
                if isinstance(fault, int):
                    raise HubError(fault, "out of order")
                request = Request(self.headers, parse_qs(address.query, keep_blank_values=True), body)
                reply = hub.answer(self.command, address.path, request)
            except HubError as error:
                reply = error.reply
            except Exception:
                reply = Reply.of_json({"error": traceback.format_exc()}, 500)
            hub.requests.append(RequestRecord(self.command, self.path, reply.status))
            if fault == "lost":
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        def _read_body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            chunks = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815

    return Handler
