"""Cloze questions: each is answered by its context, from another paragraph than the sentence's."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ctxzoo.tasks.question_answering.cloze import Article, drop_overlapping_articles, generate_cloze_questions

# One sentence, too long to be asked of, whose words are not rare: all articles have it.
FILLER = " ".join(["All in all with a part of the", *(f"common{number}" for number in range(40))])
LIFE = "Quiet days were spent reading; Ada Byron wrote 12 notes on the engine with Charles Babbage until 1843."
WORK = (
    "The famous engine notes of Ada Byron, 12 of them, written with Charles Babbage, appeared in 1843 as printed pages."
)


def article(*sentences: str, title: str = "Ada") -> Article:
    return Article(title, tuple(f"{sentence} {FILLER}." for sentence in sentences))


def questions(*articles: Article, **options: Any) -> list[dict[str, Any]]:
    return list(generate_cloze_questions([*articles, Article("filler", (f"{FILLER}.",) * 120)], **options))


def asked(sentence: str, context: str) -> set[tuple[str, str]]:
    """Return every question that is drawn of the sentence, with its answer."""
    found = set()
    for seed in range(20):
        rows = questions(article(sentence, context), min_overlap=0, seed=seed)
        found |= {(row["question"], row["answers"]["text"][0]) for row in rows if row["context"].startswith(context)}
    return found


def test_every_answer_is_at_its_place_in_another_paragraph_of_the_article() -> None:
    ada, other = article(LIFE, WORK), article(LIFE, title="another Ada")
    rows = questions(ada, other, seed=1)
    assert len(rows) == 2  # one of each sentence; the other article has no second paragraph
    for row, context in zip(rows, ada.paragraphs[::-1], strict=True):
        (text,), (start,) = row["answers"]["text"], row["answers"]["answer_start"]
        assert row["title"] == "Ada"
        assert row["context"] == context
        assert context[start : start + len(text)] == text
        assert text not in row["question"]
    assert len({row["id"] for row in rows}) == 2


def test_names_are_asked_for_whole_and_numbers_by_their_kind() -> None:
    found = asked(LIFE, WORK)
    start, end = "Quiet days were spent reading ;", "on the engine with Charles Babbage until 1843?"
    assert (f"{start} what wrote 12 notes {end}", "Ada Byron") in found
    assert (f"{start} Ada Byron wrote how many notes {end}", "12") in found
    assert (f"{start} Ada Byron wrote 12 notes on the engine with Charles Babbage until what year?", "1843") in found
    assert {answer for _, answer in found} == {
        "Ada Byron",
        "12",
        "12 notes",
        "notes",
        "engine",
        "Charles Babbage",
        "1843",
    } - {
        "12 notes"  # the context has no such phrase
    }


def test_longer_phrases_are_drawn_more_often_and_names_before_other_words() -> None:
    drawn = [row["answers"]["text"][0] for seed in range(80) for row in questions(article(LIFE, WORK), seed=seed)[:1]]
    assert drawn.count("Ada Byron") > 2 * drawn.count("1843") > 2 * drawn.count("engine") > 0


def test_the_longest_phrase_that_both_have_is_asked_for() -> None:
    found = asked(
        "Every summer the steam locomotive works were shut for repairs by Robert Lawson.",
        "Repairs of Robert Lawson took all of the summer, and steam locomotive works rested.",
    )
    assert "steam locomotive works" in {answer for _, answer in found}
    assert not {"steam", "steam locomotive"} & {answer for _, answer in found}


def test_parts_of_compounds_and_a_first_word_are_not_asked_for() -> None:
    found = asked(
        "Zurich had semi-precious garnets under obscure marble vaults.",
        "Obscure vaults in Zurich held semi precious garnets; marble was precious there.",
    )
    assert not {"Zurich", "semi", "precious"} & {answer for _, answer in found}
    assert "garnets" in {answer for _, answer in found}


def test_the_occurrence_among_the_shared_words_is_the_answer() -> None:
    context = f"Lovelace. {FILLER}. Her brilliant analytical algorithm made Lovelace known."
    ada = Article("Ada", (f"A brilliant analytical algorithm is by Lovelace alone. {FILLER}.", context))
    rows = [row for seed in range(20) for row in questions(ada, min_overlap=0, seed=seed) if row["context"] == context]
    starts = {row["answers"]["answer_start"][0] for row in rows if row["answers"]["text"] == ["Lovelace"]}
    assert starts == {context.rindex("Lovelace")}


def test_little_in_common_is_no_question() -> None:
    assert questions(article(LIFE, WORK), min_overlap=1000) == []
    found = asked("A marble statue of Robert Lawson stands in here.", "The famous Robert Lawson was a sad statue.")
    assert {answer for _, answer in found} == {"statue"}  # beside Robert Lawson they share one rare word


def test_short_paragraphs_and_long_sentences_are_passed_over() -> None:
    assert questions(Article("Ada", (LIFE, WORK))) == []
    assert asked(" ".join([LIFE.rstrip("."), *["and so"] * 10, "on."]), WORK) == set()


def test_the_same_seed_draws_the_same() -> None:
    pair = article(LIFE, WORK)
    drawn = [[row["question"] for row in questions(pair, seed=seed)] for seed in (*range(8), *range(8))]
    assert drawn[:8] == drawn[8:]
    assert len({tuple(rows) for rows in drawn}) > 1


@pytest.mark.parametrize(("words", "left"), [(7, 1), (8, 0)])
def test_an_article_with_eight_words_in_a_row_of_a_test_is_left_out(words: int, left: int) -> None:
    names = [f"word{number}" for number in range(20)]
    random.Random(0).shuffle(names)
    kept, left_out = drop_overlapping_articles(
        [Article("", ("Short.", " ".join(names)))], ["Other text.", " ".join(["x", *names[4 : 4 + words], "x"]).upper()]
    )
    assert (len(kept), left_out) == (left, 1 - left)
