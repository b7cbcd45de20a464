import pytest

from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.ops_word_features import NUM_WORD_FEATURES, NUM_WORD_SHAPES, stem, word_features, word_shape


@pytest.mark.parametrize(
    "forms",
    [
        "walk walks walked walking Walk WALKS",
        "city cities",
        "study studies studied studying",
        "stop stops stopped stopping",
        "make makes making",
        "class classes",
        "church churches",
        "box boxes boxed boxing",
        "house houses housing",
        "fall falls falling",
        "family families",
        "quick quickly",
        "agree agrees agreeing",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "different",
    [
        "bring bred",
        "this that",
        "string strung",
        "bus but",
        "thing think",
        "one on",
        "virus viral",
        "his him he",
    ],
)
def test_short_words_and_other_words_stay_apart(different: str) -> None:
    words = different.split()
    assert len({stem(word) for word in words}) == len(words)


@pytest.mark.parametrize("word", ["1990s", "n't", "'s", "U.S.", "``", "", "\x00", "e\u0301s"])
def test_words_with_other_signs_are_only_lower_cased(word: str) -> None:
    assert stem(word) == word.lower()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (0, ["word", "n't", "'s", "é", "e\u0301"]),
        (1, ["Word", "A", "I", "É", "O'"]),
        (2, ["NASA", "U.S.", "ÉT"]),
        (3, ["McDonald", "iPhone", "PhDs"]),
        (4, ["1990", "٣"]),
        (5, ["1,234.5", "1990s", "B2"]),
        (6, [".", "``", "...", "€", "👩", '"']),
        (7, ["שלום", "日本", "\x00", "\u200b", "\u0301", ""]),
    ],
)
def test_shapes(shape: int, words: list[str]) -> None:
    assert [word_shape(word) for word in words] == [shape] * len(words)


def test_features_of_a_sentence() -> None:
    context = ["The", "cities", "the", "city", "Paris", "1990"]
    question = ["the", "City", "paris", "?"]
    rows = word_features(context, question)
    as_is, lower, stems, frequency = zip(*(row[:4] for row in rows), strict=True)
    assert as_is == (0, 0, 1, 0, 0, 0)
    assert lower == (1, 0, 1, 1, 1, 0)
    assert stems == (1, 1, 1, 1, 1, 0)
    assert frequency == pytest.approx([2 / 6, 1 / 6, 2 / 6, 1 / 6, 1 / 6, 1 / 6])
    assert [row[4:].index(1.0) for row in rows] == [1, 0, 0, 0, 1, 4]
    assert all(sum(row[4:]) == 1 for row in rows)


def test_both_directions_and_empty_text() -> None:
    assert [row[0] for row in word_features(["a", "b"], ["b", "c", "b"])] == [0, 1]
    assert [row[0] for row in word_features(["b", "c", "b"], ["a", "b"])] == [1, 0, 1]
    assert word_features([], ["a"]) == []
    assert [row[:3] for row in word_features(["a"], [])] == [[0, 0, 0]]


def test_width_is_the_config_s_default() -> None:
    assert {len(row) for row in word_features(["a", "."], ["b"])} == {NUM_WORD_FEATURES}
    assert NUM_WORD_FEATURES == 4 + NUM_WORD_SHAPES == BidafConfig().num_word_features
