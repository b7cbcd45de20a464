"""A pipe, such as `<(zcat rows.csv.gz)`, as a file: what trains and scores reads its data more than once."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPTIONS = ("data", "validation", "test", "dataset", "texts", "known", "vectors")  # of all commands, that name data
BY_CONTENT = "vectors"  # its readers look into a file, not at its name
KINDS = ("csv", "tsv", "jsonl", "json", "parquet", "txt", "conll", "conllu", "mid")
MARKS = {b"PAR1": "parquet", b"MThd": "mid"}  # first bytes
GZIP = b"\x1f\x8b"
PEEK = 1 << 20  # bytes in which the first line is looked for


@contextmanager
def replace_pipes_by_files(options: argparse.Namespace) -> Iterator[None]:
    """Within a `with` block, replace each pipe among the options by a temporary file with its content.

    Args:
        options: Parsed options of a command; its `format` names the format of text from a pipe, whose name has no
            suffix.

    Raises:
        ValueError: What a pipe holds can be seen neither from `format` nor from its content.
    """
    with tempfile.TemporaryDirectory(prefix="ctxzoo-pipe-") as folder:
        for option in OPTIONS:
            value = getattr(options, option, None)
            if isinstance(value, (str, Path)) and _is_pipe(value):
                kind = "" if option == BY_CONTENT else getattr(options, "format", None)
                setattr(options, option, str(_copy_pipe_to_file(Path(value), Path(folder) / option, kind)))
        yield


def _is_pipe(value: str | Path) -> bool:
    """Whether the path is a pipe or a socket, which can be read only once."""
    try:
        mode = os.stat(value).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _copy_pipe_to_file(pipe: Path, folder: Path, kind: str | None) -> Path:
    """Copy what the pipe holds into the new folder, and return the file, named after its `kind` (None: detect it)."""
    folder.mkdir()
    copy = folder / "pipe"
    with pipe.open("rb") as content, copy.open("wb") as file:
        shutil.copyfileobj(content, file)
    with copy.open("rb") as file:
        begin = file.read(PEEK)
    kind = kind if kind is not None else _detect_file_kind(begin, pipe)
    ending = f".{kind}" if kind else ""
    return copy.rename(copy.with_name(f"pipe{ending}{'.gz' if kind and begin.startswith(GZIP) else ''}"))


def _detect_file_kind(begin: bytes, pipe: Path) -> str:
    """Return the kind of file that begins with these bytes: by its first bytes, or JSON by its brace."""
    for mark, kind in MARKS.items():
        if begin.startswith(mark):
            return kind
    if begin.lstrip().startswith(b"{"):
        try:
            json.loads(begin.lstrip().split(b"\n")[0])
        except ValueError:
            return "json"
        return "jsonl" if b"\n" in begin.strip() else "json"
    raise ValueError(
        f"{pipe} is a pipe, whose name does not say what it holds; name its kind, one of {', '.join(KINDS)} "
        "(or set `format`)"
    )
