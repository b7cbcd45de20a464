from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.word_vectors.exchange import to_keyed_vectors
from ctxzoo.word_vectors.vectors import WordVectors

WORDS = [f"w{number}" for number in range(30)]
VECTORS = WordVectors.from_tensor(WORDS, torch.randn(30, 6, generator=torch.Generator().manual_seed(0)), "drawn")


@pytest.mark.parametrize(("words", "negative"), [(["w3"], []), (["w3", "w7"], ["w9"]), (["w1", "w1"], ["w2"])])
def test_as_gensim(words: list[str], negative: list[str]) -> None:
    wanted = to_keyed_vectors(VECTORS).most_similar(words, negative=negative, topn=5)
    found = VECTORS.most_similar(words, negative, top=5)
    assert [word for word, _ in found] == [word for word, _ in wanted]
    assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in wanted], abs=1e-5)


def test_words_asked_for_are_left_out_in_every_spelling() -> None:
    found = VECTORS.most_similar(["W3"], ["w4"], top=100)
    assert {word for word, _ in found} == set(WORDS) - {"w3", "w4"}
    assert found == VECTORS.most_similar(["w3"], ["w4"], top=100)


def test_the_vector_of_a_word_in_every_spelling() -> None:
    assert torch.equal(VECTORS.vector("W3"), VECTORS.vectors[3])
    with pytest.raises(ValueError, match="drawn has no vector of 'mill'"):
        VECTORS.vector("mill")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["w1", "mill", "w2"], ["town"]), ValueError, "drawn has no vector of 'mill', 'town'"),
        (([],), ValueError, "no word to compare with"),
        (("w1",), TypeError, r"words is the string 'w1', expected .* \['w1'\]"),
        ((["w1"], "w2"), TypeError, "negative is the string 'w2'"),
        ((["w1"], [], 0), ValueError, "top is 0"),
    ],
)
def test_refuses(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VECTORS.most_similar(*arguments)
