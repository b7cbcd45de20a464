"""Features of words: what they are, their ids in a tokenizer, and that they come with every way to call it."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from ctxzoo.models.tokenization_features import NUM_FEATURES, find_word_features, list_word_features
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer

SENTENCES = [["Mr.", "Iceland-1", "pays", "1,995", "!"], ["ice", "pays"]]


def tokenizer(min_count: int = 1) -> WordTokenizer:
    features = find_word_features(SENTENCES, min_count)
    return build_word_tokenizer(
        ["pays"], fold_digits=True, keep_unknown=True, pre_tokenizer="treebank", exceptions=["-x-"], features=features
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Iceland-1", "w=Iceland-1 l=iceland-0 p1=i s1=0 p2=ic s2=-0 p3=ice s3=d-0 p4=icel s4=nd-0 shape=Xxx-9"),
        ("A", "w=A l=a p1=a s1=a p2=a s2=a p3=a s3=a p4=a s4=a shape=X"),
        ("1,995", "w=1,995 l=0,000 p1=0 s1=0 p2=0, s2=00 p3=0,0 s3=000 p4=0,00 s4=,000 shape=9,99"),
    ],
)
def test_features_of_a_word(word: str, expected: str) -> None:
    assert list_word_features(word)[:-1] == expected.split()
    assert len(list_word_features(word)) == NUM_FEATURES


def test_the_kind_of_a_word() -> None:
    kinds = {word: list_word_features(word)[-1] for word in ("USA", "Us", "us", "iPod", "x-1", "中")}
    assert list(kinds.values()) == ["kind=upper", "kind=title", "kind=", "kind=mixed", "kind= digit hyphen", "kind="]


def test_features_have_ids_by_their_number() -> None:
    features = find_word_features(SENTENCES, 2)
    assert features[:3] == ["kind=", "shape=xx", "l=pays"] or features[0] == "kind="
    assert {"w=pays", "p3=ice"} <= set(features)  # of "ice" and "Iceland-1"
    assert "w=ice" not in features


def test_they_come_with_lists_and_texts_alike_and_are_saved(tmp_path: Path) -> None:
    words = tokenizer()
    given = words(SENTENCES, is_split_into_words=True, padding=True)
    assert words.model_input_names == ["input_ids", "attention_mask", "feature_ids"]
    assert words.num_feature_ids == 1 + len(words.init_kwargs["features"])
    for row, sentence in enumerate(SENTENCES):
        ids = given["feature_ids"][row]
        named = [[None if not i else words.init_kwargs["features"][i - 1] for i in of_word] for of_word in ids]
        assert named[: len(sentence)] == [list_word_features(word) for word in sentence]
        assert all(of_word == [0] * NUM_FEATURES for of_word in ids[len(sentence) :])
    assert words("new", is_split_into_words=False)["feature_ids"][0][0] == 0  # an unknown word
    words.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    texts = ["Mr. Iceland-1 pays 1,995!", "ice pays"]
    assert loaded(texts, padding=True, return_tensors="pt")["feature_ids"].tolist() == given["feature_ids"]
    assert loaded.split_into_words("It's -x- (well-known).") == ["It", "'s", "-x-", "(", "well-known", ")", "."]


def test_lists_are_not_cut_and_features_are_of_taggers() -> None:
    assert len(tokenizer()(["a.b!c", "(x)"], is_split_into_words=True)["input_ids"]) == 2
    with pytest.raises(ValueError, match="1 features of words without keep_unknown; only taggers"):
        build_word_tokenizer(["a"], features=["w=a"])
