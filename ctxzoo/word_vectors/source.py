"""Finding, recognising and opening files of word vectors."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

from ctxzoo.data.unpacking import limit_unpacked_size, refuse_large_members
from ctxzoo.word_vectors.rows import format_bytes_for_error

VectorFormat = Literal["glove", "word2vec text", "word2vec binary", "safetensors"]

UTF8_MARK = b"\xef\xbb\xbf"
HEAD_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 20
_GZIP_MARK = b"\x1f\x8b"
_ZIP_MARK = b"PK\x03\x04"
_FASTTEXT_MARK = (793712314).to_bytes(4, "little")  # of a model with its n-grams, which fastText saves as .bin
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})")
_LARGEST_DIM = 1 << 16
_PRECISIONS = (".fp16", ".bf16", ".fp32")
_ENDINGS = (
    ".safetensors",
    *(precision + ".safetensors" for precision in _PRECISIONS),
    *(kind + packing for kind in (".txt", ".vec", ".bin") for packing in ("", ".gz", ".zip")),
    ".gz",
    ".zip",
)


def find_vector_file(path: Path) -> Path:
    """Return the file that a path means: the path itself, or the one file that adds a usual ending to it.

    Raises:
        FileNotFoundError: no such file; the message lists what was looked for.
        IsADirectoryError: the path is a folder.
        ValueError: several files fit.
    """
    if path.is_file():
        return path
    candidates = [path.with_name(path.name + ending) for ending in _ENDINGS]
    files = [candidate for candidate in candidates if candidate.is_file()]
    if len(files) == 1:
        return files[0]
    if files:
        names = ", ".join(candidate.name for candidate in files)
        raise ValueError(f"{path}: several files of word vectors fit: {names}; name one of them")
    if path.is_dir():
        raise IsADirectoryError(
            f"{path}: is a folder without config.json, expected a file of word vectors or a checkpoint folder"
        )
    names = ", ".join(candidate.name for candidate in [path, *candidates])
    raise FileNotFoundError(f"{path}: no such file of word vectors; looked in {path.parent} for {names}")


def find_words_file(vectors: Path) -> Path:
    """Return the list of words that belongs to a .safetensors file of vectors.

    Raises:
        FileNotFoundError: there is none; the message lists what was looked for.
    """
    stem = vectors.name.removesuffix(".safetensors")
    stems = [stem, *(stem.removesuffix(precision) for precision in _PRECISIONS if stem.endswith(precision))]
    candidates = [vectors.with_name(name + ".words.txt") for name in stems]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = " and ".join(candidate.name for candidate in candidates)
    raise FileNotFoundError(f"{vectors}: the list of its words is missing; looked in {vectors.parent} for {names}")


def strip_known_suffixes(path: Path) -> str:
    """Return the name of a set of vectors: the file name without the endings for packing, format and precision."""
    name = path.name
    for endings in ((".gz", ".zip"), (".safetensors", ".txt", ".vec", ".bin"), _PRECISIONS):
        for ending in endings:
            name = name.removesuffix(ending)
    return name


@dataclass(frozen=True)
class OpenVectorFile:
    """An open, unpacked file.

    Attributes:
        stream: Binary stream of the unpacked file.
        name: Name of the file for error messages; the member of an archive follows an exclamation mark.
        report: Function that advances the progress bar to the current position.
    """

    stream: BinaryIO
    name: str
    report: Callable[[], None]


@contextmanager
def open_vector_file(path: Path, progress: bool) -> Iterator[OpenVectorFile]:
    """Open a plain file, a .gz file or a .zip archive of one file, recognised by their first bytes.

    The progress bar counts bytes on disk and is drawn on stderr, if that is a terminal.

    Raises:
        ValueError: the archive does not hold exactly one file, or (also while reading) packed data is damaged.
        PackedFileError: it unpacks to more than it may, see `compute_unpacked_limit`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not (progress and sys.stderr.isatty()),
    )
    with path.open("rb", buffering=_BUFFER_BYTES) as raw, bar:
        task = bar.add_task(path.name, total=path.stat().st_size)

        def update_progress_bar() -> None:
            bar.update(task, completed=raw.tell())

        mark = raw.read(4)
        raw.seek(0)
        try:
            if mark.startswith(_GZIP_MARK):
                with limit_unpacked_size(gzip.GzipFile(fileobj=raw), path) as unpacked:
                    yield OpenVectorFile(unpacked, str(path), update_progress_bar)
            elif mark == _ZIP_MARK:
                with zipfile.ZipFile(raw) as archive:
                    member = _get_only_zip_member(path, archive)
                    refuse_large_members(path, [member])
                    with archive.open(member) as unpacked_member:
                        stream = io.BufferedReader(cast(io.RawIOBase, unpacked_member), _BUFFER_BYTES)
                        yield OpenVectorFile(stream, f"{path}!{member.filename}", update_progress_bar)
            else:
                yield OpenVectorFile(raw, str(path), update_progress_bar)
        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path}: the packed data is damaged or cut short ({error}); get the file again"
            ) from error


def _get_only_zip_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) == 1:
        return members[0]
    names = ", ".join(member.filename for member in members[:10]) or "none"
    raise ValueError(
        f"{path}: the archive holds {len(members)} files ({names}), expected one; unpack it and name the file you want"
    )


def read_first_bytes(path: Path) -> tuple[str, bytes]:
    """Return the name of a file for errors, and its first (unpacked) bytes, up to HEAD_BYTES.

    Raises:
        ValueError: the file is empty, or its packed data is damaged.
    """
    with open_vector_file(path, progress=False) as file:
        head = file.stream.read(HEAD_BYTES)
        if not head:
            raise ValueError(f"{file.name}: the file is empty, expected word vectors")
        return file.name, head


def detect_vector_format(name: str, first_bytes: bytes) -> VectorFormat:
    """Return the format of a file, from its first bytes.

    Raises:
        ValueError: it is UTF-16 text, a whole model of fastText, or has no line end where each known format has one.
    """
    # A safetensors file starts with the length of its JSON header (8 bytes) and the header's opening brace.
    if name.endswith(".safetensors") or (
        first_bytes[8:9] == b"{" and int.from_bytes(first_bytes[:8], "little") < 1 << 32
    ):
        return "safetensors"
    if first_bytes.startswith(_UTF16_MARKS):
        raise ValueError(f"{name}: byte 0: the file is UTF-16 text, expected UTF-8; convert it first")
    if first_bytes.startswith(_FASTTEXT_MARK):
        raise ValueError(
            f"{name}: a whole model of fastText, which is not read; take the .vec file beside it, or write one with "
            f"gensim: gensim.models.fasttext.load_facebook_vectors({name!r}).save_word2vec_format('words.vec')"
        )
    first_line, line_end, further_bytes = first_bytes.partition(b"\n")
    if not line_end and len(first_bytes) == HEAD_BYTES:
        raise ValueError(
            f"{name}: no line end in the first {HEAD_BYTES:,} bytes, which start with "
            f"{format_bytes_for_error(first_bytes)}; expected GloVe text, word2vec text or binary, or safetensors"
        )
    if parse_header(first_line) is None:
        return "glove"
    # Rows of text are mostly made of the characters of numbers; of binary floats these are about one byte in fourteen.
    numeric = len(further_bytes) - len(further_bytes.translate(None, b"0123456789.+-eE \t\r\n"))
    return "word2vec text" if 2 * numeric >= len(further_bytes) else "word2vec binary"


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Return (rows, dim) if the line is the first of a word2vec file, else None."""
    match = _HEADER.fullmatch(line.removeprefix(UTF8_MARK).strip())
    return (int(match[1]), int(match[2])) if match else None


def parse_and_check_header(name: str, line: bytes) -> tuple[int, int]:
    """Return (rows, dim), as the first line of a word2vec file gives them.

    Raises:
        ValueError: one of them is zero, or the dimension is none that vectors have.
    """
    header = parse_header(line)
    if header is None or 0 in header:
        raise ValueError(
            f"{name}: line 1: the header is {format_bytes_for_error(line.strip())}, expected the number of rows and "
            "the dimension, both above 0"
        )
    if header[1] > _LARGEST_DIM:
        raise ValueError(
            f"{name}: line 1: the header is {format_bytes_for_error(line.strip())}, expected a dimension of at most "
            f"{_LARGEST_DIM:,}; correct the header, or get the file again"
        )
    return header
