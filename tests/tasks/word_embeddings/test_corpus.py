"""Running text as ids of its frequent words."""

from __future__ import annotations

import bz2
import gzip
import pickle
import random
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from ctxzoo.models.tokenization_word import PreTokenizerName, build_pre_tokenizer, build_word_tokenizer, pre_tokenize
from ctxzoo.tasks.word_embeddings import corpus as corpus_module
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE, Corpus, load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.sample import sample_corpus

TEXT = "the Cat sat\n\non the mat on 19\nthe dog in 42\nzebra\ncat on dog the\n"


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def load(path: Path | str, tmp_path: Path, min_count: int = 2, **options: str) -> Corpus:
    pre_tokenizer = build_pre_tokenizer(True, "english", fold_digits=True)
    return load_corpus(CorpusSource(str(path), **options), pre_tokenizer, min_count=min_count, cache=tmp_path / "cache")


def sentences(corpus: Corpus) -> list[list[str]]:
    return [
        [corpus.words[row] for row in corpus.ids[begin:end]]
        for begin, end in zip(corpus.pointers[:-1], corpus.pointers[1:], strict=True)
    ]


def test_words_come_by_count_and_then_by_first_appearance(text_file: Path, tmp_path: Path) -> None:
    corpus = load(text_file, tmp_path)
    assert corpus.words == ["the", "on", "cat", "00", "dog"]
    assert corpus.counts.tolist() == [4, 3, 2, 2, 2]
    assert corpus.raw_words == 17


def test_unknown_words_and_blank_lines_leave_no_trace(text_file: Path, tmp_path: Path) -> None:
    assert sentences(load(text_file, tmp_path)) == [
        ["the", "cat"],
        ["on", "the", "on", "00"],
        ["the", "dog", "00"],
        ["cat", "on", "dog", "the"],
    ]


@pytest.mark.parametrize(("min_count", "known"), [(41, ["a"]), (40, ["a", "b"])])
def test_the_threshold_is_the_least_count(tmp_path: Path, min_count: int, known: list[str]) -> None:
    path = tmp_path / "text.txt"
    path.write_text("b " * 40 + "a " * 41, encoding="utf-8")
    assert load(path, tmp_path, min_count).words == known


def test_the_checkpoints_tokenizer_reads_the_same_ids(tmp_path: Path) -> None:
    corpus = load("sample", tmp_path)
    tokenizer = build_word_tokenizer(corpus.words, pre_tokenizer="english", fold_digits=True, mask_token=True)
    lines = list(sample_corpus(0))[:50]
    assert [[index - 2 for index in ids] for ids in tokenizer(lines)["input_ids"]] == [
        corpus.ids[begin:end].tolist() for begin, end in zip(corpus.pointers[:50], corpus.pointers[1:51], strict=True)
    ]


@pytest.mark.parametrize("chunk", [1, 3, 7, 1000])
def test_the_size_of_chunks_does_not_matter(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    expected = load(text_file, tmp_path / "whole")
    monkeypatch.setattr(corpus_module, "WORDS_AT_ONCE", chunk)
    corpus = load(text_file, tmp_path / "chunks")
    assert sentences(corpus) == sentences(expected)
    assert corpus.words == expected.words


def test_chunks_of_random_lines_against_a_plain_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "WORDS_AT_ONCE", 13)
    draw = random.Random(1)
    lines = [[draw.choice("abcdefgh") for _ in range(draw.randrange(9))] for _ in range(200)]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(line) for line in lines), encoding="utf-8")
    counts = Counter(word for line in lines for word in line)
    least = sorted(counts.values())[3]
    kept = [[word for word in line if counts[word] >= least] for line in lines]
    assert sentences(load(path, tmp_path, least)) == [line for line in kept if line]


@pytest.mark.parametrize("name", ["whitespace", "english", "treebank"])
@pytest.mark.parametrize("exceptions", [[], ["a-b c"]])
def test_words_are_those_of_the_pre_tokenizer(tmp_path: Path, name: PreTokenizerName, exceptions: list[str]) -> None:
    """Whatever blanks are between them, breaks of lines in HTML included; repeated pieces are cut once."""
    lines = ["It's a\x1cdog<br />in\u3000the\xa0U.S., a-b c", "a-b c it's\t<BR/>The U.S.,\x85dog 1,000 1,000"] * 2
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    pre_tokenizer = build_pre_tokenizer(True, name, fold_digits=True, exceptions=exceptions)
    corpus = load_corpus(CorpusSource(str(path)), pre_tokenizer, cache=tmp_path / "cache")
    assert sentences(corpus) == [pre_tokenize(pre_tokenizer, line) for line in lines]


def test_long_sentences_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a b\n" + "a b " * LONGEST_SENTENCE + "a\n" + "b " * LONGEST_SENTENCE, encoding="utf-8")
    corpus = load(path, tmp_path)
    assert np.diff(corpus.pointers).tolist() == [2, LONGEST_SENTENCE, LONGEST_SENTENCE, 1, LONGEST_SENTENCE]
    assert corpus.pointers[-1] == len(corpus.ids)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_packed_files_give_the_same(text_file: Path, tmp_path: Path, ending: str) -> None:
    packed = tmp_path / f"text.txt{ending}"
    data = TEXT.encode()
    if ending == ".zst":
        packed.write_bytes(pa.compress(data, codec="zstd", asbytes=True))
    else:
        packed.write_bytes({".gz": gzip, ".bz2": bz2}[ending].compress(data))
    assert sentences(load(packed, tmp_path)) == sentences(load(text_file, tmp_path))


def test_a_row_of_a_dataset_may_hold_several_lines(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    rows = {"body": [TEXT[:30], None, TEXT[30:]], "title": ["x", "y", "z"]}
    datasets.Dataset.from_dict(rows).to_parquet(folder / "train.parquet")
    corpus = load(folder, tmp_path, column="body")
    assert corpus.counts.sum() == load(text_file, tmp_path).counts.sum()
    with pytest.raises(ValueError, match="no column 'text'; it has body, title"):
        load(folder, tmp_path)
    with pytest.raises(ValueError, match="no split 'test'; it has train"):
        load(folder, tmp_path, column="body", split="test")


def test_memory_that_is_released_is_read_again(tmp_path: Path) -> None:
    corpus = load("sample", tmp_path)
    before = sentences(corpus)
    corpus.release_memory()
    assert sentences(corpus) == before


def test_a_corpus_is_pickled_without_its_text(tmp_path: Path) -> None:
    corpus = load("sample", tmp_path)
    before = sentences(corpus)
    pickled = pickle.dumps(corpus)
    assert len(pickled) < corpus.ids.nbytes / 10
    assert sentences(pickle.loads(pickled)) == before


def test_a_second_call_reads_what_the_first_wrote(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(text_file, tmp_path)
    monkeypatch.setattr(corpus_module, "_write_corpus", None)
    again = load(text_file, tmp_path)
    assert again.folder == first.folder
    assert sentences(again) == sentences(first)


@pytest.mark.parametrize("text", ["", "\n\n  \n"])
def test_an_empty_text_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"empty\.txt' is empty; expected lines of text"):
        load(path, tmp_path)
    assert not list((tmp_path / "cache").glob("corpus-*"))


def test_a_threshold_that_nothing_passes_is_named(text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"occurs 9 times or more \(the most frequent one 4 times\); lower min_count"):
        load(text_file, tmp_path, 9)
    with pytest.raises(ValueError, match="min_count is 0"):
        load(text_file, tmp_path, 0)


def test_a_line_longer_than_the_memory_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.tasks.word_embeddings.corpus_lines.BLOCK", 64)
    words = [f"wörd{number}" for number in range(400)]
    path = tmp_path / "text8"
    path.write_text(f"short line\n {' '.join(words)}\nlast", encoding="utf-8")
    first, *parts, last = CorpusSource(str(path)).lines()
    assert (first, last) == ("short line", "last")
    assert " ".join(parts) == f" {' '.join(words)}"
    assert max(len(part.encode()) for part in parts) <= 128


@pytest.mark.parametrize("text", ["\t".join(f"w{number}" for number in range(400)), "漢字𝒳x" * 100])
def test_a_long_line_without_spaces_comes_in_parts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """At tabs, and between characters where a text has no blank at all."""
    monkeypatch.setattr("ctxzoo.tasks.word_embeddings.corpus_lines.BLOCK", 64)
    (tmp_path / "text8").write_text(text, encoding="utf-8")
    parts = list(CorpusSource(str(tmp_path / "text8")).lines())
    assert ("\t" if "\t" in text else "").join(parts) == text
    assert max(len(part.encode()) for part in parts) <= 128


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"one\n\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"latin1\.txt, line 3: b'\\xe9' is not UTF-8"):
        load(path, tmp_path)


def test_a_damaged_packed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:20] + b"broken")
    with pytest.raises(ValueError, match=r"text\.gz cannot be unpacked"):
        load(path, tmp_path)


def test_the_sample_is_the_same_everywhere() -> None:
    assert next(sample_corpus(0)) == next(sample_corpus(0, 1))
    assert list(sample_corpus(0, 20)) != list(sample_corpus(1, 20))
    with pytest.raises(ValueError, match="lines is 0"):
        next(sample_corpus(0, 0))
