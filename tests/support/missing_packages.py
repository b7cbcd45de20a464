"""An environment whose processes cannot find some packages, as where they were never installed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# Python runs a sitecustomize.py that it finds before anything else. Libraries ask the metadata, or for a spec, or
# try the import.
_HIDE = """
import importlib.machinery
import importlib.metadata

HIDDEN = {names!r}
find = importlib.metadata.distribution
find_spec = importlib.machinery.PathFinder.find_spec


def find_spec_of_others(fullname, path=None, target=None):
    return None if fullname.partition(".")[0] in HIDDEN else find_spec(fullname, path, target)


def distribution(name):
    if name in HIDDEN:
        raise importlib.metadata.PackageNotFoundError(name)
    return find(name)


importlib.machinery.PathFinder.find_spec = staticmethod(find_spec_of_others)
importlib.metadata.distribution = distribution
"""


def hide_packages(names: Iterable[str], folder: Path, path: str = "") -> dict[str, str]:
    """The variables that hide `names` from a process, beside a `PYTHONPATH` of `path`; `folder` is written to."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(_HIDE.format(names=tuple(names)), encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join(part for part in (str(folder), path) if part)}
