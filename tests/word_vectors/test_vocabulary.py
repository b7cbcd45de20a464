from __future__ import annotations

import numpy as np
import pytest
import torch

from ctxzoo.word_vectors.vectors import WordVectors
from ctxzoo.word_vectors.vocabulary import add_special_token_rows, select_frequent_characters, select_frequent_words

WORDS = ["the", "rare", "tea", "absent"]
COUNTS = np.array([5, 1, 2, 0], np.int32)


@pytest.mark.parametrize(("least", "words"), [(1, ["the", "tea", "rare"]), (2, ["the", "tea"]), (3, ["the"]), (6, [])])
def test_frequent_words_come_most_frequent_first(least, words):
    assert select_frequent_words(WORDS, COUNTS, least) == words


def test_words_of_equal_frequency_keep_their_order():
    assert select_frequent_words(["b", "a", "c"], np.array([2, 2, 3], np.int32), 1) == ["c", "b", "a"]


def test_characters_are_counted_in_running_text():
    # t: 5 + 2, e: 5 + 1 + 2, h: 5, a: 1 + 2, r: 1 + 1; "absent" does not occur.
    assert select_frequent_characters(WORDS, COUNTS, 1) == ["e", "t", "h", "a", "r"]
    assert select_frequent_characters(WORDS, COUNTS, 3) == ["e", "t", "h", "a"]


def test_a_character_twice_in_a_word_counts_twice_and_ties_go_by_code_point():
    assert select_frequent_characters(["éaab", "z"], np.array([1, 1], np.int32), 1) == ["a", "b", "z", "é"]


def test_vectors_stand_below_two_rows_of_zeros():
    vectors = WordVectors(words=["a", "b", "c"], vectors=torch.arange(6.0).view(3, 2) + 1, name="x", fingerprint="")
    table = add_special_token_rows(vectors)
    assert table.tolist() == [[0, 0], [0, 0], [1, 2], [3, 4], [5, 6]]
