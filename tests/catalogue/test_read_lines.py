from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.read_lines import (
    make_label_file_converter,
    make_labelled_line_converter,
    read_film_reviews,
    read_sentence_polarity,
    repair_windows_1252,
)


def write(folder: Path, files: dict[str, bytes]) -> dict[str, Path]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}


def test_sentence_polarity_divides_each_label(tmp_path: Path) -> None:
    lines = {label: "".join(f"{label} {n} \n" for n in range(10)).encode() for label in ("pos", "neg")}
    splits = read_sentence_polarity(write(tmp_path, {f"rt-polarity.{label}": lines[label] for label in lines}))
    assert splits["validation"] == {"text": ["pos 8", "neg 8"], "label": [1, 0]}
    assert splits["test"] == {"text": ["pos 9", "neg 9"], "label": [1, 0]}
    assert splits["train"]["text"] == [f"{label} {n}" for label in ("pos", "neg") for n in range(8)]


def test_texts_by_file_are_cut_at_line_feeds_alone(tmp_path: Path) -> None:
    files = write(tmp_path, {"a.neg": "caf\u2028é \n\n bad\n".encode(), "a.pos": b"good"})
    convert = make_label_file_converter([("a.neg", 0, "negative"), ("a.pos", 1, "positive")])
    expected = {"text": ["caf\u2028é", "bad", "good"], "label": [0, 0, 1]}
    assert convert(files)["train"] == {**expected, "label_text": ["negative", "negative", "positive"]}
    assert (
        make_label_file_converter([("a.neg", 0, "n"), ("a.pos", 1, "p")], label_text=False)(files)["train"] == expected
    )


def test_texts_in_another_encoding(tmp_path: Path) -> None:
    files = write(tmp_path, {"a": "an — dash".encode("cp1252")})
    assert make_label_file_converter([("a", 1, "x")], "cp1252")(files)["train"]["text"] == ["an — dash"]
    with pytest.raises(RawFileError, match="a: byte 3 is not utf-8; expected the file of the source"):
        make_label_file_converter([("a", 1, "x")])(files)


def test_labels_before_texts(tmp_path: Path) -> None:
    files = write(
        tmp_path, {"r8": b"Class\tExample\nearn\tnet profit \nacq\tbuys unit\n", "sst": b"1 a fine film\n0 dull\n"}
    )
    by_name = make_labelled_line_converter([("test", "r8")], ("acq", "earn"), "\t", header=True, label_text=False)
    assert by_name(files) == {"test": {"text": ["net profit", "buys unit"], "label": [1, 0]}}
    by_number = make_labelled_line_converter(
        [("test", "sst")], ("negative", "positive"), " ", header=False, label_text=True
    )
    rows = by_number(files)["test"]
    assert rows == {"text": ["a fine film", "dull"], "label": [1, 0], "label_text": ["positive", "negative"]}


@pytest.mark.parametrize("line", ["grain\twheat", "earn net profit", ""])
def test_a_line_without_a_known_label_is_named(tmp_path: Path, line: str) -> None:
    files = write(tmp_path, {"r8": f"Class\tExample\nearn\tprofit\n{line}\nacq\tunit\n".encode()})
    convert = make_labelled_line_converter([("test", "r8")], ("acq", "earn"), "\t", header=True, label_text=False)
    with pytest.raises(RawFileError, match="r8, line 3: begins with"):
        convert(files)


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_film_reviews_are_sorted_by_label_and_number(tmp_path: Path) -> None:
    members = {
        "aclImdb/train/pos/0_9.txt": b"fine",
        "aclImdb/train/neg/10_1.txt": b"ten",
        "aclImdb/train/neg/9_2.txt": b"nine<br /> ",
        "aclImdb/train/unsup/1_0.txt": b"nobody knows",
        "aclImdb/train/labeledBow.feat": b"0:1",
        "aclImdb/test/neg/3_4.txt": "it\x92s\x81 dull".encode(),
    }
    splits = read_film_reviews(write(tmp_path, {"aclImdb_v1.tar.gz": archive(members)}))
    assert splits["train"] == {"text": ["nine<br /> ", "ten", "fine"], "label": [0, 0, 1]}
    assert splits["test"] == {"text": ["it’s\x81 dull"], "label": [0]}


def test_a_damaged_archive_of_reviews(tmp_path: Path) -> None:
    whole = archive({f"aclImdb/{split}/neg/0_1.txt": bytes(range(256)) * 99 for split in ("train", "test")})
    with pytest.raises(RawFileError, match=r"reviews\.tar\.gz cannot be unpacked"):
        read_film_reviews(write(tmp_path, {"reviews.tar.gz": whole[: len(whole) // 2]}))
    with pytest.raises(RawFileError, match="holds no aclImdb"):
        read_film_reviews(write(tmp_path, {"reviews.tar.gz": archive({"other/a.txt": b"x"})}))


def test_real_characters_leaves_others_alone() -> None:
    assert repair_windows_1252("\x93quote\x94 é – \x9d") == "“quote” é – \x9d"
