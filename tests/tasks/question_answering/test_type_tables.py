from __future__ import annotations

import numpy as np
import pytest

from ctxzoo.models.tokenization_word_char import build_word_char_tokenizer, word_features
from ctxzoo.tasks.question_answering.type_tables import TypeTables, build_type_tables

TYPES = ["The", "cats", "cat", "U.S.", "``", "1990s", "Naïve", "\0", "unseen", "CATS", "runs"]
VOCABULARY = ["the", "cats", '"', "u.s.", "naïve", "Cat"]


def build(characters: list[str] | None = None, features: bool = False, length: int = 5) -> TypeTables:
    tokenizer = build_word_char_tokenizer(
        VOCABULARY, characters=characters, max_word_length=length, word_features=features
    )
    return build_type_tables(TYPES, tokenizer)


def test_word_ids_follow_the_tokenizers_rule():
    ids = dict(zip(TYPES, build().word_ids.tolist(), strict=False))
    assert ids == {
        "The": 2,
        "cats": 3,
        "cat": 7,  # capitalised
        "U.S.": 5,
        "``": 4,  # the plain quote
        "1990s": 1,
        "Naïve": 6,
        "\0": 1,
        "unseen": 1,
        "CATS": 3,
        "runs": 1,
    }


def test_the_extra_token_is_unknown_and_padding_is_zero():
    tables = build(characters=list("acst"), features=True)
    assert (tables.extra, tables.padding) == (len(TYPES), len(TYPES) + 1)
    assert tables.word_ids[[tables.extra, tables.padding]].tolist() == [1, 0]
    assert tables.char_ids[tables.extra].tolist() == [1] * 5
    assert tables.char_ids[tables.padding].tolist() == [0] * 5


def test_characters_are_cut_and_padded():
    tables = build(characters=list("acst1"))
    by_word = dict(zip(TYPES, tables.char_ids.tolist(), strict=False))
    assert by_word["cats"] == [3, 2, 5, 4, 0]
    assert by_word["CATS"] == [1, 1, 1, 1, 0]
    assert by_word["1990s"] == [6, 1, 1, 1, 4]
    assert by_word["unseen"] == [1, 1, 4, 1, 1]


def test_without_characters_and_features_there_are_no_tables_for_them():
    tables = build()
    assert tables.char_ids is None
    assert tables.forms is None
    assert tables.shapes is None


def padded(tables: TypeTables, texts: list[list[str]]) -> np.ndarray:
    numbers = {word: number for number, word in enumerate(TYPES)}
    array = np.full((len(texts), 1 + max(map(len, texts))), tables.padding, np.int32)
    array[:, 0] = tables.extra
    for row, text in enumerate(texts):
        array[row, 1 : 1 + len(text)] = [numbers[word] for word in text]
    return array


@pytest.mark.parametrize("swapped", [False, True])
def test_features_of_a_batch_are_those_of_each_text_alone(swapped):
    tables = build(features=True)
    texts = [["The", "cats", "CATS", "runs", "cats", "1990s"], ["``", "\0", "Naïve"], ["unseen"]]
    others = [["cat", "runs", "The"], ["Naïve", "\0", "U.S.", "``"], ["cat"]]
    if swapped:
        texts, others = others, texts
    lengths = np.array([len(text) for text in texts])
    features = tables.features(padded(tables, texts), lengths, padded(tables, others))
    assert features.dtype == np.float32
    for row, (text, other) in enumerate(zip(texts, others, strict=True)):
        assert not features[row, 0].any()
        assert not features[row, 1 + len(text) :].any()
        expected = np.array(word_features(text, other), np.float32)
        np.testing.assert_array_equal(features[row, 1 : 1 + len(text)], expected)
