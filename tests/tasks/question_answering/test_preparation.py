from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.models.tokenization_word_char import build_word_pre_tokenizer
from ctxzoo.tasks.question_answering import preparation as squad_preparation
from ctxzoo.tasks.question_answering.preparation import PreparedSplit, PreparedSquad, PreparedTexts, prepare_squad
from ctxzoo.tasks.question_answering.sample import sample_squad
from tests.support.tiny_squad import question, rows

AWKWARD = {
    "quotes": "He said ``yes'' and \"no\", then 'don't'.",
    "double blanks": "two  blanks,\ta tab,\n\na  line",
    "combining": "cafe\u0301 nai\u0308ve e\u0301e\u0301",
    "emoji": "a 👩\u200d👩\u200d👧 and 🇩🇪 flag 👍🏽!",
    "NUL": "a\0b \0 c",
    "zero width": "zero\u200bwidth \ufeffmark soft\u00adhyphen",
    "wide blanks": "no\u00a0break\u3000wide\u2028line",
    "scripts": "東京は大きい。 مرحبا 12.5% U.S.A.'s 1990s",
}


def prepare(folder: Path, **splits) -> PreparedSquad:
    return prepare_squad(splits, {name: dataset_fingerprint(split) for name, split in splits.items()}, folder)


def words_of(prepared: PreparedSquad, texts: PreparedTexts, text: int) -> list[tuple[str, tuple[int, int]]]:
    """Word and offsets as `pre_tokenize_str` gives them."""
    place = slice(texts.pointers[text], texts.pointers[text + 1])
    return [
        (prepared.words[kind], (begin, end))
        for kind, (begin, end) in zip(texts.types[place], texts.offsets[place].tolist(), strict=True)
    ]


def covered(split: PreparedSplit, row: int, context: str) -> str:
    """The text from the first to the last word of the answer."""
    offsets = split.contexts.offsets[split.contexts.pointers[split.context_of[row]] :]
    first, last = split.spans[row]
    return context[offsets[first, 0] : offsets[last, 1]]


def test_words_and_offsets_are_the_pre_tokenizers_in_the_text_as_given(tmp_path):
    split = rows(*(question(name, text, f"Is it {text}") for name, text in AWKWARD.items()))
    prepared = prepare(tmp_path, train=split)
    pre_tokenizer = build_word_pre_tokenizer()
    arrays = prepared.splits["train"]
    for row, text in enumerate(AWKWARD.values()):
        assert words_of(prepared, arrays.contexts, arrays.context_of[row]) == pre_tokenizer.pre_tokenize_str(text)
        assert words_of(prepared, arrays.questions, row) == pre_tokenizer.pre_tokenize_str(f"Is it {text}")
        for word, (begin, end) in words_of(prepared, arrays.contexts, arrays.context_of[row]):
            assert text[begin:end] == word


def test_counts_are_those_of_running_words(tmp_path):
    prepared = prepare(tmp_path, train=rows(question("1", "a b a", "a ?")), test=rows(question("2", "b c", "c ?")))
    counts = {name: dict(zip(prepared.words, values.tolist(), strict=True)) for name, values in prepared.counts.items()}
    assert counts == {"train": {"a": 3, "b": 1, "?": 1, "c": 0}, "test": {"a": 0, "b": 1, "?": 1, "c": 2}}
    assert prepared.words[0] == "a"


def test_words_of_an_answer_map_back_to_a_text_that_contains_it(tmp_path):
    generated = sample_squad(seed=3, train=200, validation=50, test=50)
    prepared = prepare(tmp_path, **generated)
    answered = 0
    for name, split in generated.items():
        arrays = prepared.splits[name]
        for row, example in enumerate(split):
            if not example["answers"]["text"]:
                assert arrays.spans[row].tolist() == [-1, -1]
                continue
            answered += 1
            answer = example["answers"]["text"][0]
            text = covered(arrays, row, example["context"])
            assert answer in text
            assert (text == answer) == arrays.exact[row]
    assert answered > 150


@pytest.mark.parametrize(
    ("context", "answer", "start", "text"),
    [
        ("built in 1990s style", "1990", 9, "1990s"),
        ("pre-war house", "war", 4, "war"),
        ("unaligned", "align", 2, "unaligned"),
        ("of  two  blanks", "two  blanks", 4, "two  blanks"),
        ("a cafe\u0301 here", "cafe", 2, "cafe\u0301"),
        ("first last", "first last", 0, "first last"),
        ("word  ", "word  ", 0, "word"),
        ("one  two", "  two", 3, "two"),
        ("seen 👍🏽 there", "👍", 5, "👍"),
    ],
)
def test_answers_that_are_not_whole_words_are_covered(tmp_path, context, answer, start, text):
    prepared = prepare(tmp_path, train=rows(question("1", context, answer=answer, start=start)))
    split = prepared.splits["train"]
    found = covered(split, 0, context)
    assert found == text
    assert answer.strip() in found
    assert bool(split.exact[0]) == (found == answer)


def test_every_substring_is_covered_by_its_words(tmp_path):
    context = "Don't: ``a 1,234.5m'' U.S. cafe\u0301's 👍🏽"
    spans = [
        (begin, end)
        for begin in range(len(context))
        for end in range(begin + 1, len(context) + 1)
        if context[begin:end].strip()
    ]
    split = rows(*(question(str(number), context, answer=context[b:e], start=b) for number, (b, e) in enumerate(spans)))
    arrays = prepare(tmp_path, train=split).splits["train"]
    for row, (begin, end) in enumerate(spans):
        assert context[begin:end].strip() in covered(arrays, row, context)


def test_an_answer_of_blanks_alone_stays_inside_the_context(tmp_path):
    arrays = prepare(tmp_path, train=rows(question("1", "a b  ", answer="  ", start=3))).splits["train"]
    assert arrays.spans[0].tolist() == [1, 1]
    assert not arrays.exact[0]


def test_a_shared_context_is_kept_once(tmp_path):
    split = rows(question("1", "same text"), question("2", "other"), question("3", "same text"))
    arrays = prepare(tmp_path, train=split).splits["train"]
    assert arrays.context_of.tolist() == [0, 1, 0]
    assert arrays.contexts.lengths().tolist() == [2, 1]
    assert len(arrays) == 3


@pytest.mark.parametrize("what", ["question", "context"])
def test_a_text_without_words_is_refused_by_split_row_and_id(tmp_path, what):
    empty = {"question": question("k7", "some text", "  \u2003"), "context": question("k7", "\n \u3000")}[what]
    with pytest.raises(ValueError, match=rf"split 'dev', row 1, id 'k7': the {what} has no words"):
        prepare(tmp_path, dev=rows(question("k1", "some text"), empty))
    assert list(tmp_path.iterdir()) == []


def test_the_second_call_reads_what_the_first_one_wrote(tmp_path, monkeypatch):
    split = rows(question("1", "some text"))
    first = prepare(tmp_path, train=split)
    monkeypatch.setattr(squad_preparation, "_write_preparation", None)  # calling it would fail
    second = prepare(tmp_path, train=split)
    assert second.words == first.words
    np.testing.assert_array_equal(second.splits["train"].contexts.types, first.splits["train"].contexts.types)


def test_changed_content_split_names_or_rules_are_prepared_anew(tmp_path, monkeypatch):
    prepare(tmp_path, train=rows(question("1", "some text")))
    assert "other" in prepare(tmp_path, train=rows(question("1", "other text"))).words
    assert set(prepare(tmp_path, test=rows(question("1", "some text"))).splits) == {"test"}
    monkeypatch.setattr(squad_preparation, "PREPARATION_VERSION", "next")
    prepare(tmp_path, train=rows(question("1", "some text")))
    assert len(list(tmp_path.glob("squad-*"))) == 4


def test_preparation_is_the_same_in_every_process(tmp_path):
    split = sample_squad(train=60, validation=1, test=1)["train"]
    words = [prepare(tmp_path / str(number), train=split).words for number in range(3)]
    assert words[0] == words[1] == words[2]


def test_a_preparation_that_was_killed_is_done_again(tmp_path, monkeypatch):
    split = rows(question("1", "some text"))
    with monkeypatch.context() as patch:
        # words.json is written by then
        patch.setattr(squad_preparation, "_find_answer_spans", lambda *args: os.kill(os.getpid(), signal.SIGKILL))
        process = multiprocessing.get_context("fork").Process(target=prepare, args=(tmp_path,), kwargs={"train": split})
        process.start()
        process.join()
    assert process.exitcode == -signal.SIGKILL
    assert list(tmp_path.rglob("words.json"))
    assert prepare(tmp_path, train=split).splits["train"].contexts.lengths().tolist() == [2]
