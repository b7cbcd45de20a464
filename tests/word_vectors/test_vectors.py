from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

# Among them characters that str.split and str.splitlines take for white space or line ends, and words that are numbers.
WORDS = [
    "the",
    ",",
    "2015",
    "3.14",
    "nan",
    "naïve",
    "日本",
    "\x85",
    "a\u00a0b",
    "\u2028",
    "😀",
    "</s>",
    "The",
    "USA",
    "\x1c",
]
SPACED = [". . .", "at name@domain.com", " leading"]
DIM = 7


def matrix(words: Sequence[str], dim: int = DIM) -> torch.Tensor:
    return torch.randn(len(words), dim, generator=torch.Generator().manual_seed(0))


def text_rows(words: Sequence[str], vectors: torch.Tensor) -> str:
    # repr of a float64 copy holds every bit of the 32-bit number
    return "".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in zip(words, vectors, strict=True))


def write_glove(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    path.write_bytes(text_rows(words, vectors).encode())
    return path


def write_word2vec_text(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    path.write_bytes((f"{len(words)} {vectors.shape[1]}\n" + text_rows(words, vectors)).encode())
    return path


def write_word2vec_binary(path: Path, words: Sequence[str], vectors: torch.Tensor, end: bytes = b"\n") -> Path:
    blob = f"{len(words)} {vectors.shape[1]}\n".encode()
    for word, row in zip(words, vectors, strict=True):
        blob += word.encode() + b" " + struct.pack(f"<{len(row)}f", *row.tolist()) + end
    path.write_bytes(blob)
    return path


def write_safetensors(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    save_file({"vectors": vectors}, path)
    path.with_name(path.name.removesuffix(".safetensors") + ".words.txt").write_bytes(
        "".join(f"{word}\n" for word in words).encode()
    )
    return path


def write_gzip(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    path.write_bytes(gzip.compress(text_rows(words, vectors).encode()))
    return path


def write_gzip_binary(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    path.write_bytes(gzip.compress(write_word2vec_binary(path, words, vectors).read_bytes()))
    return path


def write_zip(path: Path, words: Sequence[str], vectors: torch.Tensor) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/inner.txt", text_rows(words, vectors))
    return path


WRITERS = {
    "glove.txt": write_glove,
    "glove.gz": write_gzip,
    "glove.zip": write_zip,
    "word2vec.txt": write_word2vec_text,
    "word2vec.bin": write_word2vec_binary,
    "word2vec.bin.gz": write_gzip_binary,
    "tensor.safetensors": write_safetensors,
}


def assert_same(found: WordVectors, words: Sequence[str], vectors: torch.Tensor) -> None:
    assert found.words == list(words)
    assert found.vectors.dtype == torch.float32
    assert torch.equal(found.vectors, vectors)
    assert found.dim == vectors.shape[1]
    assert len(found) == len(words)


def assert_refused(path: Path, *parts: str, error: type[Exception] = ValueError, **options: object) -> None:
    """Reading fails with a message that begins with the file and holds each of the parts."""
    with pytest.raises(error) as caught:
        read_word_vectors(path, progress=False, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith(str(path)), message
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("file_name", WRITERS)
def test_every_format_gives_the_same_matrix(tmp_path: Path, file_name: str) -> None:
    vectors = matrix(WORDS)
    # the content decides about the format, not the ending; only safetensors needs its own for the words beside it
    path = WRITERS[file_name](tmp_path / file_name, WORDS, vectors)
    assert_same(read_word_vectors(path), WORDS, vectors)


@pytest.mark.parametrize("file_name", ["glove.txt", "glove.zip", "word2vec.txt", "tensor.safetensors"])
def test_words_may_hold_blanks(tmp_path: Path, file_name: str) -> None:
    words = [*SPACED, *WORDS]
    vectors = matrix(words)
    assert_same(read_word_vectors(WRITERS[file_name](tmp_path / file_name, words, vectors)), words, vectors)


@pytest.mark.parametrize("file_name", WRITERS)
@pytest.mark.parametrize(
    ("keep", "limit", "kept"),
    [
        (["The"], None, ["the", "The"]),  # upper case is not there, the two others are
        (["usa"], None, ["USA"]),
        (["NAÏVE", "absent"], None, ["naïve"]),
        (None, 2, ["the", ","]),
        (["usa", "the"], 2, ["the", ",", "The", "USA"]),
        ([], None, []),
        (None, 0, []),
        (None, 10_000, WORDS),
    ],
)
def test_keep_and_limit(
    tmp_path: Path, file_name: str, keep: list[str] | None, limit: int | None, kept: list[str]
) -> None:
    vectors = matrix(WORDS)
    path = WRITERS[file_name](tmp_path / file_name, WORDS, vectors)
    rows = [WORDS.index(word) for word in kept]
    assert_same(read_word_vectors(path, keep=keep, limit=limit), kept, vectors[rows])


@pytest.mark.parametrize("file_name", ["glove.txt", "word2vec.txt", "word2vec.bin", "tensor.safetensors"])
def test_more_rows_than_one_batch_and_than_the_first_allocation(tmp_path: Path, file_name: str) -> None:
    words = [f"w{row}" for row in range(5001)]
    vectors = matrix(words, 3)
    path = WRITERS[file_name](tmp_path / file_name, words, vectors)
    assert_same(read_word_vectors(path), words, vectors)
    assert_same(
        read_word_vectors(path, keep=["w4999"], limit=2049), [*words[:2049], "w4999"], vectors[[*range(2049), 4999]]
    )


def test_file_longer_than_the_head_and_than_a_binary_block(tmp_path: Path) -> None:
    words = [f"w{row}" for row in range(6000)]
    vectors = matrix(words, 200)
    assert_same(read_word_vectors(write_word2vec_binary(tmp_path / "v.bin", words, vectors)), words, vectors)
    few = words[:500]
    assert_same(read_word_vectors(write_glove(tmp_path / "v.txt", few, vectors[:500])), few, vectors[:500])


def test_binary_without_line_feeds(tmp_path: Path) -> None:
    vectors = matrix(WORDS)
    path = write_word2vec_binary(tmp_path / "v.bin", WORDS, vectors, end=b"")
    assert_same(read_word_vectors(path), WORDS, vectors)


@pytest.mark.parametrize("line_end", [b"\r\n", b" \n", b"\n\n\n"])
def test_text_line_ends_and_marks_of_other_writers(tmp_path: Path, line_end: bytes) -> None:
    for header in (b"", b"2 3" + line_end.rstrip(b"\n") + b"\n"):
        path = tmp_path / "v.txt"
        body = b"a 1 -2. +.5e1\nb 1e-3 0 7" + line_end
        path.write_bytes(b"\xef\xbb\xbf" + header + body)
        assert_same(read_word_vectors(path), ["a", "b"], torch.tensor([[1, -2, 5], [1e-3, 0, 7]]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("ending", ["", ".fp16", ".bf16", ".fp32"])
def test_safetensors_precision_and_place_of_the_words(tmp_path: Path, dtype: torch.dtype, ending: str) -> None:
    vectors = matrix(WORDS).to(dtype)
    path = tmp_path / f"wiki.100d{ending}.safetensors"
    save_file({"vectors": vectors}, path)
    (tmp_path / "wiki.100d.words.txt").write_bytes("\r\n".join(WORDS).encode())  # and no line end after the last
    for given in (path, tmp_path / "wiki.100d", str(tmp_path / f"wiki.100d{ending}")):
        found = read_word_vectors(given)
        assert_same(found, WORDS, vectors.float())
        assert found.name == "wiki.100d"


def test_the_words_file_of_the_full_stem_goes_first(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "v.fp16.safetensors", ["right"], matrix(["right"]))
    (tmp_path / "v.words.txt").write_text("wrong\n")
    assert read_word_vectors(path).words == ["right"]


@pytest.mark.parametrize(
    "file_name", ["glove.6B.100d.txt", "glove.6B.100d.txt.gz", "glove.6B.100d.zip", "glove.6B.100d.vec"]
)
def test_ending_may_be_left_out(tmp_path: Path, file_name: str) -> None:
    vectors = matrix(WORDS)
    writer = {"gz": write_gzip, "zip": write_zip}.get(file_name.rpartition(".")[2], write_glove)
    writer(tmp_path / file_name, WORDS, vectors)
    found = read_word_vectors(tmp_path / "glove.6B.100d")
    assert_same(found, WORDS, vectors)
    assert found.name == "glove.6B.100d"


def test_lookup_tries_the_cases_in_order() -> None:
    def lookup(word: str, *words: str) -> str | None:
        row = WordVectors(list(words), torch.zeros(len(words), 1), "test", "").lookup(word)
        return None if row is None else words[row]

    forms = ["MCDONALD", "Mcdonald", "mcdonald", "McDonald"]
    assert lookup("McDonald", *forms) == "McDonald"
    assert lookup("McDonald", *forms[:3]) == "mcdonald"
    assert lookup("McDonald", *forms[:2]) == "Mcdonald"
    assert lookup("McDonald", *forms[:1]) == "MCDONALD"
    assert lookup("McDonald", "mcDonald") is None
    assert lookup("first", "first", "First") == "first"  # row 0 is a row


def test_vectors_must_have_a_row_for_each_word() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 2\), expected \(1, dim\)"):
        WordVectors(["a"], torch.zeros(3, 2), "test", "")


def test_fingerprint_is_of_the_whole_content(tmp_path: Path) -> None:
    vectors = matrix(WORDS)
    first = read_word_vectors(write_glove(tmp_path / "a.txt", WORDS, vectors)).fingerprint
    assert re.fullmatch("[0-9a-f]{64}", first)
    inner = hashlib.sha256((tmp_path / "a.txt").read_bytes()).digest()
    assert first == hashlib.sha256(inner).hexdigest()
    assert read_word_vectors(write_glove(tmp_path / "b.txt", WORDS, vectors), limit=1).fingerprint == first
    vectors[-1, -1] += 1
    assert read_word_vectors(write_glove(tmp_path / "a.txt", WORDS, vectors), limit=1).fingerprint != first


def test_fingerprint_covers_the_words_file(tmp_path: Path) -> None:
    vectors = matrix(["a", "b"])
    first = read_word_vectors(write_safetensors(tmp_path / "v.safetensors", ["a", "b"], vectors)).fingerprint
    (tmp_path / "v.words.txt").write_text("a\nc\n")
    assert read_word_vectors(tmp_path / "v").fingerprint != first


# Errors: (content, parts of the message after the name of the file)
TEXT_FAULTS = {
    "too few numbers": (
        b"a 1 2 3\nb 1 2 3\nc 1 2\n",
        ["line 3: 2 numbers after the word 'c', expected 3", "first lines"],
    ),
    "first line short": (b"a 1 2\nb 1 2 3\nc 1 2 3\n", ["line 1: 2 numbers after the word 'a', expected 3"]),
    "two lines differ": (b"a 1 2\nb 1 2 3\n", ["line 1: 2 numbers after the word 'a', expected 3"]),
    "too many numbers": (b"a 1 2 3\nb 1 2 3\nc 1 2 3 4 5\n", ["line 3: 5 numbers after the word 'c', expected 3"]),
    "no word": (b"a 1 2 3\nb 1 2 3\n 1 2 3\n", ["line 3: the word is empty"]),
    "header, too few": (
        b"2 3\na 1 2 3\nb 1 2\n",
        ["line 3: 2 numbers after the word 'b', expected 3 as in the header"],
    ),
    "header, too many": (b"2 3\na 1 2 3\nb 1 2 3 4\n", ["line 3: 4 numbers after the word 'b', expected 3"]),
    "word only": (b"a 1 2 3\nb 1 2 3\nc\n", ["line 3: 0 numbers after the word 'c', expected 3"]),
    "not a number": (b"a 1 2 3\nb 1 x2 3\nc 1 2 3\n", ["line 2: value 2 is 'x2', expected a number"]),
    "two points": (b"a 1 2 3\nb 1 2 3.4.5\nc 1 2 3\n", ["line 2: value 3 is '3.4.5', expected a number"]),
    "empty field": (b"a 1 2 3\nb 1  3\nc 1 2 3\n", ["line 2: value 2 is '', expected a number"]),
    "made up by a tab": (b"3 3\na 1 2 3\nb 1  3\nc 1 2\t3 4\n", ["line 3: value 2 is '', expected a number"]),
    "rest at the end": (b"a 1 2 3\nb 1 2 3\nc 1 2 3x\n", ["line 3: value 3 is '3x', expected a number"]),
    "underscore": (b"a 1 2 3\nb 1 2_0 3\nc 1 2 3\n", ["line 2: value 2 is '2_0', expected a number"]),
    "tab": (b"a 1 2 3\nb 1 2\t3 4\nc 1 2 3\n", ["line 2: value 2 is '2\\t3', expected a number"]),
    "nan": (b"a 1 2 3\nb 1 nan 3\n", ["line 2: value 2 is 'nan', expected a finite"]),
    "inf": (b"a 1 2 3\nb 1 2 -inf\n", ["line 2: value 3 is '-inf', expected a finite"]),
    "overflow": (b"a 1 2 3\nb 1 2 1e39\n", ["line 2: value 3 is '1e39', expected a finite 32-bit number"]),
    "duplicate": (b"a 1 2 3\nb 1 2 3\na 4 5 6\n", ["line 3: the word 'a' is already in line 1"]),
    "header, duplicate": (b"3 3\na 1 2 3\nb 1 2 3\na 4 5 6\n", ["line 4: the word 'a' is already in line 2"]),
    "too few rows": (b"3 3\na 1 2 3\nb 1 2 3\n", ["2 rows, expected the 3 that the header in line 1 promises"]),
    "too few rows, blank": (b"3 3\na 1 2 3\nb 1 2 3\n\n", ["2 rows, expected the 3"]),
    "too many rows": (b"1 3\na 1 2 3\nb 1 2 3\n", ["line 3: more rows than the 1 that the header in line 1 promises"]),
    "header only": (b"3 3\n", ["0 rows, expected the 3"]),
    "header of zero": (b"3 0\na\n", ["line 1: the header is '3 0'", "both above 0"]),
    "header of a width that nobody has": (
        b"2 99999999999999\na 1 2\nb 1 2\n",
        ["line 1: the header is '2 99999999999999'", "at most 65,536"],
    ),
    "header of more digits than an int takes": (
        b"2 " + b"9" * 5000 + b"\na 1 2\nb 1 2\n",
        ["line 1: 1 number after the word '2', expected 2"],
    ),
    "header of rows that nobody has": (b"99999999999999 2\na 1 2\nb 1 2\n", ["2 rows, expected the 99999999999999"]),
    "blank line": (b"a 1 2 3\n\nb 1 2 3\n", ["line 2: the line is empty, expected a word and 3 numbers"]),
    "latin 1": (b"a 1 2 3\ncaf\xe9 1 2 3\n", ["line 2: the word b'caf\\xe9' is not UTF-8 (byte 3 is 0xe9)"]),
    "utf-16": ("a 1 2 3\n".encode("utf-16"), ["byte 0: the file is UTF-16"]),
    "prose": (b"Call me Ishmael.\nSome years ago\n", ["line 1: 'Call me Ishmael.' does not end in numbers"]),
    "blanks": (b"\n\n", ["line 1: '' does not end in numbers"]),
    "empty": (b"", ["the file is empty"]),
    "no line end": (b"x" * (1 << 20), ["no line end in the first 1,048,576 bytes", "xxx'…"]),
}


@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_faults_in_text(tmp_path: Path, fault: str) -> None:
    content, parts = TEXT_FAULTS[fault]
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    assert_refused(path, *parts)


def test_faults_in_text_after_the_first_batch(tmp_path: Path) -> None:
    lines = [f"w{row} 0.5 -1 2" for row in range(1, 5001)]
    lines[4499] = "w4500 0.5 oops 2"
    path = tmp_path / "v.txt"
    path.write_text("\n".join(lines))
    assert_refused(path, "line 4500: value 2 is 'oops'")
    assert len(read_word_vectors(path, limit=4499)) == 4499  # not read as far as the fault


def test_packed_text_names_the_member(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in.txt", "a 1 2\nb 1 x\n")
    assert_refused(path, "v.zip!in.txt: line 2: value 2 is 'x'")


@pytest.mark.parametrize(("members", "shown"), [([], "0 files (none)"), (["a", "b"], "2 files (a, b)")])
def test_zip_must_hold_one_file(tmp_path: Path, members: list[str], shown: str) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/", "")
        for member in members:
            archive.writestr(member, "a 1 2\n")
    assert_refused(path, shown, "expected one")


@pytest.mark.parametrize("writer", [write_gzip, write_zip])
def test_packed_data_cut_short(tmp_path: Path, writer: object) -> None:
    words = [f"w{row}" for row in range(2000)]
    path = writer(tmp_path / "v", words, matrix(words))  # type: ignore[operator]
    path.write_bytes(path.read_bytes()[:-2000])
    assert_refused(path, "damaged or cut short")


def binary(*rows: tuple[bytes, Sequence[float]], count: int | None = None, dim: int = 4) -> bytes:
    header = f"{len(rows) if count is None else count} {dim}\n".encode()
    return header + b"".join(word + b" " + struct.pack(f"<{len(row)}f", *row) + b"\n" for word, row in rows)


ROW = (0.1, -0.2, 0.3, -0.4)
BINARY_FAULTS = {
    # the header takes 4 bytes, the row of a word of one letter 1 + 1 + 16 + 1
    "cut in a vector": (
        binary((b"a", ROW), (b"b", ROW))[:-4],
        ["row 1 (byte 22)", "ends after 13 bytes of the vector of 'b', expected 16"],
    ),
    "cut in a word": (
        binary((b"a", ROW), count=2) + b"bc",
        ["row 1 (byte 22)", "ends within or before the word"],
    ),
    "rows missing": (binary((b"a", ROW), count=2), ["row 1 (byte 22)", "ends within or before the word", "2 rows"]),
    "more bytes": (binary((b"a", ROW), (b"b", ROW), count=1), ["byte 22: more bytes after the 1 row that"]),
    "wrong width": (
        binary((b"a", ROW), (b"b", ROW), dim=3),
        ["row 1: the word b", "is not UTF-8", "if its dimension is wrong"],
    ),
    "nan": (
        binary((b"a", ROW), (b"b", (1, 2, float("nan"), 4))),
        ["row 1 (byte 33): value 3 is nan, expected a finite"],
    ),
    "inf": (binary((b"a", (float("-inf"), *ROW[1:]))), ["row 0 (byte 6): value 1 is -inf"]),
    "duplicate": (binary((b"a", ROW), (b"b", ROW), (b"a", ROW)), ["row 2: the word 'a' is already in row 0"]),
    "latin 1": (binary((b"caf\xe9", ROW)), ["row 0: the word b'caf\\xe9' is not UTF-8 (byte 3 is 0xe9)"]),
    "no word": (binary((b"", ROW)), ["row 0: the word is empty"]),
    "no blank": (b"2 4\n" + b"\x01" * 70_000, ["row 0 (byte 4): no blank in 65,536 bytes"]),
    "header of zero": (b"0 4\n\x01\x02", ["line 1: the header is '0 4'"]),
    "header of a width that nobody has": (
        binary((b"a", ROW), (b"b", ROW), dim=99999999999999),
        ["line 1: the header is '2 99999999999999'", "at most 65,536"],
    ),
    "header of rows that nobody has": (
        binary((b"a", ROW), count=99999999999999),
        ["row 1 (byte 35)", "expected the 99999999999999 rows"],
    ),
}


@pytest.mark.parametrize("fault", BINARY_FAULTS)
def test_faults_in_binary(tmp_path: Path, fault: str) -> None:
    content, parts = BINARY_FAULTS[fault]
    path = tmp_path / "v.bin"
    path.write_bytes(content)
    assert_refused(path, *parts)


def test_a_model_of_fasttext_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "cc.de.300.bin"
    path.write_bytes(struct.pack("<ii", 793712314, 12) + bytes(4000))
    with pytest.raises(ValueError, match=r"cc\.de\.300\.bin: a whole model of fastText.*\.vec .*load_facebook_vectors"):
        read_word_vectors(path)


def test_safetensors_words_and_rows_must_match(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "v.safetensors", ["a", "b"], matrix(["a", "b"]))
    words = tmp_path / "v.words.txt"
    for content, part in [
        ("a\n", "1 line, expected 2, one for each row of v.safetensors"),
        ("a\nb\nc\n", "3 lines, expected 2"),
        ("", "0 lines, expected 2"),
        ("a\n\nb\n", "line 2: the word is empty"),
        ("a\na\n", "line 2: the word 'a' is already in line 1"),
    ]:
        words.write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"{words}: {part}")):
            read_word_vectors(path)
    words.write_bytes(b"a\ncaf\xe9\n")
    with pytest.raises(ValueError, match=re.escape(f"{words}: line 2: the word b'caf\\xe9' is not UTF-8")):
        read_word_vectors(path)


@pytest.mark.parametrize("shape", [[2, 99999999999999], [99999999999999, 0], [2**62, 2**62]], ids=str)
def test_a_shape_in_safetensors_that_the_file_does_not_hold(tmp_path: Path, shape: list[int]) -> None:
    size = 0 if 0 in shape else 16
    header = json.dumps({"vectors": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}).encode()
    path = tmp_path / "v.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    (tmp_path / "v.words.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match=r"v.safetensors: (is no whole|the tensor .vectors. has shape)"):
        read_word_vectors(path)


@pytest.mark.parametrize(
    ("tensors", "part"),
    [
        ({"weights": torch.zeros(1, 2)}, "holds the tensors ['weights'], expected one tensor named 'vectors'"),
        ({"vectors": torch.zeros(1, 2), "x": torch.zeros(1)}, "holds the tensors ['vectors', 'x']"),
        ({"vectors": torch.zeros(2)}, "shape (2,) and type torch.float32, expected (rows, dim)"),
        ({"vectors": torch.zeros(1, 0)}, "shape (1, 0)"),
        ({"vectors": torch.zeros(1, 2, dtype=torch.int32)}, "type torch.int32"),
        ({"vectors": torch.tensor([[0.0, torch.nan]])}, "row 0 (word 'a'): value 2 is nan, expected a finite"),
        ({"vectors": torch.tensor([[1e39, 0.0]], dtype=torch.float64)}, "row 0 (word 'a'): value 1 is inf"),
    ],
)
def test_faults_in_safetensors(tmp_path: Path, tensors: dict[str, torch.Tensor], part: str) -> None:
    path = tmp_path / "v.safetensors"
    save_file(tensors, path)
    (tmp_path / "v.words.txt").write_text("a\n")
    assert_refused(path, part)


def test_fault_in_a_kept_row_of_safetensors_names_the_row_of_the_file(tmp_path: Path) -> None:
    vectors = matrix(["a", "b", "c"])
    vectors[2, 1] = torch.inf
    path = write_safetensors(tmp_path / "v.safetensors", ["a", "b", "c"], vectors)
    assert_refused(path, "row 2 (word 'c'): value 2 is inf", keep=["c"])


@pytest.mark.parametrize("length", [5, 60, -1])
def test_safetensors_cut_short(tmp_path: Path, length: int) -> None:
    path = write_safetensors(tmp_path / "v.safetensors", WORDS, matrix(WORDS))
    path.write_bytes(path.read_bytes()[:length])
    assert_refused(path, "is no whole safetensors file")


@pytest.mark.parametrize("file_name", ["glove.zip", "word2vec.bin.gz"])
@pytest.mark.parametrize(("terminal", "progress"), [(True, True), (True, False), (False, True)])
def test_progress_is_drawn_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_name: str, terminal: bool, progress: bool
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    read_word_vectors(WRITERS[file_name](tmp_path / file_name, WORDS, matrix(WORDS)), progress=progress)
    assert (file_name in stderr.getvalue()) == (terminal and progress)


def test_missing_words_file_lists_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "v.fp16.safetensors"
    save_file({"vectors": matrix(["a"])}, path)
    assert_refused(path, "v.fp16.words.txt and v.words.txt", str(tmp_path), error=FileNotFoundError)


def test_missing_file_lists_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "v.words.txt").write_text("a\n")  # not a file of vectors
    names = ["v.safetensors", "v.fp16.safetensors", "v.txt", "v.txt.gz", "v.vec", "v.bin", "v.bin.gz", "v.zip"]
    assert_refused(tmp_path / "v", str(tmp_path), *names, error=FileNotFoundError)


def test_path_that_fits_several_files_or_a_folder(tmp_path: Path) -> None:
    for name in ("v.txt", "v.bin"):
        (tmp_path / name).write_text("a 1 2\n")
    assert_refused(tmp_path / "v", "several files", "v.txt, v.bin")
    (tmp_path / "folder").mkdir()
    assert_refused(tmp_path / "folder", "is a folder", error=IsADirectoryError)


def test_bad_selection(tmp_path: Path) -> None:
    path = write_glove(tmp_path / "v.txt", WORDS, matrix(WORDS))
    with pytest.raises(ValueError, match="limit is -1, expected a number of rows >= 0"):
        read_word_vectors(path, limit=-1)
    with pytest.raises(TypeError, match="keep is the string 'the', expected a collection"):
        read_word_vectors(path, keep="the")


def test_rows_that_are_not_kept_may_repeat_words(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\nb 1 2\nb 3 4\n")
    assert_same(read_word_vectors(path, keep=["a"]), ["a"], torch.tensor([[1.0, 2.0]]))


def test_text_numbers_are_rounded_as_numpy_does(tmp_path: Path) -> None:
    numbers = ["0.1", "-0.049999999", "1.00000005960464477539", "123456789", "1e-46", "-3.4028234e38", "16777217"]
    path = tmp_path / "v.txt"
    path.write_text("a " + " ".join(numbers) + "\n")
    expected = torch.from_numpy(np.array([float(number) for number in numbers]).astype(np.float32))
    assert torch.equal(read_word_vectors(path).vectors[0], expected)
