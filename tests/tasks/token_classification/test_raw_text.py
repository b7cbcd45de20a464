"""Running text is cut as the sentences of training data are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxzoo.models.tokenization_word import build_pre_tokenizer
from ctxzoo.tasks.token_classification.raw_text import choose_cut_rule, join_words

TREEBANK = [
    *("He", "did", "n't", "buy", "the", "well-known", "U.S.", "company", "'s", "$", "3.5", "(", "or", "4", ")"),
    *("shares", ",", "Mr.", "Smith", "said", "."),
]
UNIVERSAL = ["She", "did", "n't", "buy", "the", "well", "-", "known", '"', "red", "/", "green", '"', "boats", "."]
AS_WRITTEN = ["He", "didn't", "buy", "the", "(well-known)", "shares,", "he", "said."]
CONTRACTIONS = "It 's the company's share , isn't it ?".replace(" 's", "'s").split()
CHARACTERS = list("小明在2004年去了AI公司。")
WORDS_OF_CHINESE = ["小明", "在", "北京", "。"]


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (TREEBANK, "He didn't buy the well-known U.S. company's $3.5 (or 4) shares, Mr. Smith said."),
        (UNIVERSAL, 'She didn\'t buy the well-known "red/green" boats.'),
        (WORDS_OF_CHINESE, "小明在北京。"),
    ],
)
def test_text_is_as_print_has_it(sentence: Sequence[str], text: str) -> None:
    assert join_words(sentence) == text


@pytest.mark.parametrize(
    ("sentence", "name", "share"),
    [
        (TREEBANK, "treebank", 1.0),
        (UNIVERSAL, "english", 1.0),
        (AS_WRITTEN, "whitespace", 1.0),
        (CONTRACTIONS, "words", 1.0),
        (CHARACTERS, "characters", 1.0),
        (WORDS_OF_CHINESE, "unspaced", 0.5),
        (["rain"], "treebank", 1.0),
    ],
)
def test_the_rule_is_the_one_that_gives_most_words(sentence: Sequence[str], name: str, share: float) -> None:
    rule = choose_cut_rule([list(sentence)])
    assert (rule.name, rule.right / rule.words) == (name, pytest.approx(share))
    assert choose_cut_rule([list(sentence)], "signs").name == "signs"


def test_words_that_the_rule_would_cut_are_exceptions() -> None:
    rule = choose_cut_rule([["On", "Oct.", "9", ",", "-LRB-", "he", "-RRB-", "."], ["Oct.", "-LRB-", "-RRB-", "xy."]])
    assert rule.exceptions == ("Oct.", "-LRB-", "-RRB-")  # those that occur twice
    assert "3 words of the data kept whole: it gives 91.7 % of the training words" in rule.describe()
    backend = build_pre_tokenizer(True, "treebank", True, exceptions=["Oct.", "9/11"])
    cut = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str("In Oct. 7/22, but Octo. (oct.)."))
    assert [word for word, _ in cut] == ["in", "oct.", "0/00", ",", "but", "octo", ".", "(", "oct.", ")", "."]


def test_characters_alone_in_scripts_without_blanks() -> None:
    cut = build_pre_tokenizer(False, "unspaced").pre_tokenizer.pre_tokenize_str("小明 has 2004年, don't")
    assert [word for word, _ in cut] == ["小", "明", "has", "2004", "年", ",", "do", "n't"]
