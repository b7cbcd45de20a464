from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors

from ctxzoo.word_vectors.exchange import from_keyed_vectors, save_word2vec_binary, save_word2vec_text, to_keyed_vectors
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

WORDS = ["the", ",", "2015", "nan", "naïve", "日本", "</s>", "a\u00a0b", "\u2028"]
WRITERS = {"text": save_word2vec_text, "binary": save_word2vec_binary}
each_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
Writer = Callable[[WordVectors, Path], Path]


def vectors_with(words: list[str], dim: int = 5) -> WordVectors:
    generator = torch.Generator().manual_seed(0)
    # From the smallest to the largest exponents.
    table = torch.randn(len(words), dim, generator=generator) * 10 ** torch.linspace(-37, 37, dim)
    return WordVectors.from_tensor(words, table, "drawn")


@each_writer
def test_read_again_it_is_the_same(write: Writer, tmp_path: Path) -> None:
    vectors = vectors_with(WORDS)
    found = read_word_vectors(write(vectors, tmp_path / "new" / "vectors.x"))
    assert found.words == vectors.words
    assert torch.equal(found.vectors, vectors.vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_it(binary: bool, tmp_path: Path) -> None:
    vectors = vectors_with(WORDS[:-1])
    path = WRITERS["binary" if binary else "text"](vectors, tmp_path / "vectors")
    keyed = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert keyed.index_to_key == vectors.words
    assert np.array_equal(keyed.vectors, vectors.vectors.numpy())


@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_comes_back(binary: bool, tmp_path: Path) -> None:
    vectors = vectors_with(WORDS)
    keyed = to_keyed_vectors(vectors)
    assert keyed.vector_size == 5
    assert np.array_equal(keyed["日本"], vectors.vectors[5].numpy())
    keyed.save_word2vec_format(str(tmp_path / "v"), binary=binary)
    for found in (from_keyed_vectors(keyed), read_word_vectors(tmp_path / "v")):
        assert found.words == vectors.words
        torch.testing.assert_close(found.vectors, vectors.vectors)
    assert from_keyed_vectors(keyed, "mine").name == "mine"
    assert from_keyed_vectors(keyed).fingerprint == vectors.fingerprint


@each_writer
@pytest.mark.parametrize(
    ("words", "number", "message"),
    [
        ([], None, "there is no word vector to write"),
        (["a", "b c"], None, "the word 'b c' cannot be written"),
        (["a\n"], None, r"the word 'a\\n' cannot be written"),
        (["a", ""], None, "the word '' cannot be written"),
        (["a", "b"], float("nan"), "the vector of 'b' holds a number that is not finite"),
    ],
)
def test_what_cannot_be_written_leaves_the_file_alone(
    write: Writer, words: list[str], number: Any, message: str, tmp_path: Path
) -> None:
    path = write(vectors_with(["old"]), tmp_path / "v")
    before = path.read_bytes()
    vectors = vectors_with(words)
    if number is not None:
        vectors.vectors[-1, 2] = number
    with pytest.raises(ValueError, match=message):
        write(vectors, path)
    assert path.read_bytes() == before


def test_fingerprint_in_memory_tells_words_and_numbers() -> None:
    vectors = vectors_with(["a", "b"])
    others = [vectors_with(["a", "c"]), WordVectors.from_tensor(["a", "b"], vectors.vectors + 1, "drawn")]
    assert vectors_with(["a", "b"]).fingerprint == vectors.fingerprint
    assert vectors.fingerprint not in {other.fingerprint for other in others}
