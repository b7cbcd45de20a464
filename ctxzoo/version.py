"""Which release this is. Between releases the version names the commit.

The build backend runs this file by itself to name what it builds, so it imports the standard library alone. An sdist
and a wheel keep the name that they were built with.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

NEXT_RELEASE = "0.2.0.dev0"  # a release itself has no ".dev0", nor a commit in its version
COMMIT_DIGITS = 12
_PACKAGE = Path(__file__).resolve().parent


@cache
def version() -> str:
    """Return the version: `0.1.0`, or between releases `0.2.0.dev0+g<commit>`.

    It ends with `.dirty` where the package's files differ from those of the commit. In a checkout git tells the commit;
    an installed package says what it was built as. Neither is known of files that were copied: `0.2.0.dev0`.
    """
    if ".dev" not in NEXT_RELEASE:
        return NEXT_RELEASE
    root = _PACKAGE.parent
    if (root / ".git").exists():
        commit = read_git_output(root, "rev-parse", f"--short={COMMIT_DIGITS}", "HEAD")
        if commit:
            changes = read_git_output(root, "status", "--porcelain", "--", _PACKAGE.name, "pyproject.toml")
            return f"{NEXT_RELEASE}+g{commit}" + ("" if changes == "" else ".dirty")
    return _read_built_version() or NEXT_RELEASE


def read_git_output(folder: Path, *arguments: str) -> str | None:
    """Return the output of a git command in a folder; None if it fails or git is missing."""
    # Inside a git hook these variables point at the hook's own repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    except (OSError, subprocess.CalledProcessError):
        return None
    return process.stdout.strip()


def _read_built_version() -> str | None:
    """Return the version of the installed package; None if this code is not the installed one."""
    try:
        installed = metadata.distribution("ctxzoo")
    except metadata.PackageNotFoundError:
        return None
    same = Path(str(installed.locate_file("ctxzoo"))).resolve() == _PACKAGE
    return installed.version if same else None
