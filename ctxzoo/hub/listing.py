"""What the Hub lists of the files of a commit, their sizes and hashes, beside files of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub.hf_api import ModelInfo

from ctxzoo.hub.folder_files import compute_sha256


@dataclass(frozen=True)
class ListedFile:
    """What the Hub lists of a file of a commit.

    Attributes:
        size: Size of the file in bytes.
        git_id: SHA-1 by which git names the content; of a large file, that of a pointer to it.
        sha256: SHA-256 of the content of a large file, which Git LFS keeps; None for files that git keeps itself.
    """

    size: int
    git_id: str | None
    sha256: str | None

    def describe_difference(self, path: Path) -> str | None:
        """Describe how a file differs from the listed one; None if it does not."""
        size = path.stat().st_size
        if size != self.size:
            return f"has {self.size:,} bytes there and {size:,} here"
        same = compute_sha256(path) == self.sha256 if self.sha256 else compute_git_id(path) == self.git_id
        return None if same else "has another hash there"


def list_repository_files(repository: ModelInfo) -> dict[str, ListedFile]:
    """Return name to listed file of a repository, which was asked for with `files_metadata=True`."""
    return {
        file.rfilename: ListedFile(file.size or 0, file.blob_id, None if file.lfs is None else file.lfs.sha256)
        for file in repository.siblings or []
    }


def describe_listing_differences(folder: Path, names: Iterable[str], listed: Mapping[str, ListedFile]) -> list[str]:
    """Describe how files of a folder differ from those that the Hub lists; empty if they do not."""
    differences = []
    for name in names:
        found = listed[name].describe_difference(folder / name) if name in listed else "is missing there"
        if found is not None:
            differences.append(f"{name} {found}")
    return differences


def compute_git_id(path: Path) -> str:
    """Return the SHA-1 by which git names the content of a file, in hex."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
