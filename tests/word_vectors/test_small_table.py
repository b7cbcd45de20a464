"""The table of English words that comes with ctxzoo: its size, its words, and what int8 costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ctxzoo.models.tokenization_word import build_pre_tokenizer, pre_tokenize
from ctxzoo.word_vectors.exchange import save_word2vec_binary
from ctxzoo.word_vectors.small_table import SMALL, SMALL_TABLE, build_small_table, round_to_int8
from ctxzoo.word_vectors.vectors import WordVectors, fingerprint_word_vectors, get_word_vectors_name, read_word_vectors
from ctxzoo.word_vectors.vocabulary import compute_mean_weights


def test_the_table_is_small_and_its_words_are_those_of_texts() -> None:
    assert SMALL_TABLE.stat().st_size <= 4_000 * 1024
    vectors = read_word_vectors(SMALL)
    assert len(set(vectors.words)) == len(vectors) == 38_000
    assert vectors.dim == 100
    assert {"good", "bad", "the", "n't", "'s", "i", ",", "refund"} <= set(vectors.words)
    pre_tokenizer = build_pre_tokenizer(lower_case=True, pre_tokenizer="english")
    whole = sum(pre_tokenize(pre_tokenizer, word) == [word] for word in vectors.words[:5_000])
    assert whole > 4_900  # a text gives nearly all of them


def test_neighbours_are_words_of_like_meaning() -> None:
    vectors = read_word_vectors(SMALL)
    assert {word for word, _ in vectors.most_similar(["refund"])} & {"rebate", "refunds", "payment", "rebates"}
    assert {word for word, _ in vectors.most_similar(["horse"])} & {"horses", "dog", "riding"}


def test_rows_are_chosen_as_those_of_a_file() -> None:
    assert read_word_vectors(SMALL, limit=10).words == read_word_vectors(SMALL).words[:10]
    assert read_word_vectors(SMALL, keep=["Refund", "xyzzy"]).words == ["refund"]
    assert get_word_vectors_name(SMALL) == SMALL
    assert len(fingerprint_word_vectors(SMALL)) == 64


def test_int8_keeps_the_direction_of_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 50)).astype(np.float32) * np.linspace(
        0.1, 3, 50, dtype=np.float32
    )
    rounded, scales = round_to_int8(vectors)
    cosines = F.cosine_similarity(torch.from_numpy(vectors), torch.from_numpy(rounded * scales))
    assert float(cosines.min()) > 0.999


def test_gaps_are_filled_from_the_other_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = torch.Generator().manual_seed(0)
    words = [f"w{letter}" for letter in "abcdefghij"]
    base = torch.randn(10, 4, generator=generator)
    other = torch.cat([base @ torch.randn(4, 3, generator=generator), torch.randn(2, 3, generator=generator)])
    for name, known, vectors in (("base", words, base), ("own", [*words, "n't", "x9"], other)):
        save_word2vec_binary(WordVectors.from_tensor(known, vectors, name), tmp_path / f"{name}.bin")
    build_small_table(str(tmp_path / "base.bin"), str(tmp_path / "own.bin"), tmp_path / "small.npz", num_words=6)
    with np.load(tmp_path / "small.npz") as table:
        assert table["words"].tobytes().decode().split() == [*words[:5], "n't"]  # no digits, its rank behind the others
        assert table["vectors"].shape == (6, 4)
    assert "6 words, 1 of them from own" in capsys.readouterr().out


def test_frequent_words_count_less_in_the_mean() -> None:
    weights = compute_mean_weights(np.array([-1, 0, 10, 5_000, 37_999]), 38_000)
    assert weights[0] == 0
    assert np.all(np.diff(weights[1:]) > 0)
    assert weights[1] < 0.15
    assert weights[4] > 0.99
