import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, DataCollatorWithPadding

from ctxzoo.models.configuration_bidaf import WORD_FEATURES
from ctxzoo.models.ops_bidaf_words import (
    NUM_WORD_FEATURES,
    NUM_WORD_SHAPES,
    classify_word_shape,
    compute_word_features,
    stem_word,
)
from ctxzoo.models.tokenization_word_char import (
    WordCharTokenizer,
    build_word_char_tokenizer,
    build_word_pre_tokenizer,
)
from tests.support.doors import offline
from tests.support.warm_python import run_warm

WORDS = ["the", "Paris", '"', "USA", "cat", ",", "n't"]
CHARACTERS = list("abcdehinprstU'")

# Text whose bytes, code points and glyphs differ in number.
ODD_TEXTS = [
    "He said ``yes''  and \"no\".",
    "two  blanks\tand\u00a0more \u3000 here",
    "cafe\u0301 and café; n\u0303o",
    "👩\u200d👩\u200d👧 and 🇫🇷 flags 👍🏽",
    "nul\x00inside \x00 alone",
    "zero\u200bwidth \ufeff mark",
    "line\r\nbreak\rand\u2028more\n",
    "שלום עולם, سلام 123",
    "don't U.S. 1,234.5 1990s ... --",
    "a" * 50,
]


@pytest.fixture(scope="module")
def tokenizer() -> WordCharTokenizer:
    return build_word_char_tokenizer(WORDS, characters=CHARACTERS, max_word_length=6, word_features=True)


@pytest.fixture(scope="module")
def plain() -> WordCharTokenizer:
    return build_word_char_tokenizer(WORDS, characters=None)


def reference_text(tokenizer: WordCharTokenizer, text: str, other: str) -> dict[str, Any]:
    """One text of a pair, from the pre-tokenizer alone."""
    cut = build_word_pre_tokenizer().pre_tokenize_str(text)
    words = [word for word, _ in cut]
    characters = {character: number for number, character in enumerate(CHARACTERS, start=2)}
    ids = [[characters.get(character, 1) for character in word[:6]] for word in words]
    return {
        "input_ids": [1, *map(tokenizer.look_up_word_id, words)],
        "attention_mask": [1] * (len(words) + 1),
        "char_ids": [[1] * 6, *(row + [0] * (6 - len(row)) for row in ids)],
        "word_features": [
            [0.0] * NUM_WORD_FEATURES,
            *compute_word_features(words, [word for word, _ in build_word_pre_tokenizer().pre_tokenize_str(other)]),
        ],
        "offset_mapping": [(0, 0), *(offset for _, offset in cut)],
    }


@pytest.mark.parametrize("context", ODD_TEXTS)
def test_pair_equals_reference(tokenizer: WordCharTokenizer, context: str) -> None:
    question = "Is the cat in Paris ?"
    encoded = tokenizer(question, context, return_offsets_mapping=True)
    expected = reference_text(tokenizer, context, question)
    of_question = reference_text(tokenizer, question, context)
    del of_question["offset_mapping"]
    assert dict(encoded) == expected | {f"question_{name}": value for name, value in of_question.items()}


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_offsets_cut_the_words_out_of_the_text(tokenizer: WordCharTokenizer, text: str) -> None:
    offsets = tokenizer("a", text, return_offsets_mapping=True)["offset_mapping"]
    words = [text[begin:end] for begin, end in offsets[1:]]
    assert words == tokenizer.tokenize(text)
    assert "".join(words) == "".join(text.split())
    assert tokenizer(text)["input_ids"] == tokenizer.convert_tokens_to_ids(words)


@pytest.mark.parametrize(
    ("word", "index"),
    [
        ("the", 2),
        ("The", 2),
        ("THE", 2),
        ("paris", 3),
        ("PARIS", 3),
        ("usa", 5),
        ("Usa", 5),
        ("dog", 1),
        ("``", 4),
        ("''", 4),
        ('"', 4),
        ("`", 1),
        ("[PAD]", 0),
        ("[UNK]", 1),
    ],
)
def test_look_up(tokenizer: WordCharTokenizer, word: str, index: int) -> None:
    assert tokenizer.look_up_word_id(word) == index
    assert tokenizer.convert_tokens_to_ids(word) == index


def test_form_as_written_comes_first() -> None:
    tokenizer = build_word_char_tokenizer(["may", "May", "MAY", "IT", "It"], characters=None)
    assert [tokenizer.look_up_word_id(word) for word in ("may", "May", "MAY", "mAy")] == [2, 3, 4, 2]
    assert [tokenizer.look_up_word_id(word) for word in ("it", "It", "IT")] == [6, 6, 5]


def test_words_can_be_added_that_a_text_can_give() -> None:
    tokenizer = build_word_char_tokenizer(["mill"], characters=None)
    before = len(tokenizer)
    assert tokenizer.add_tokens(["barn"]) == 1
    assert tokenizer("a barn")["input_ids"][-1] == before
    for token, words in (("old barn", ["old", "barn"]), ("<x>", ["<", "x", ">"])):
        said = re.escape(f"{token!r}: a text gives no such word, it is cut into {words}")
        with pytest.raises(ValueError, match=said):
            tokenizer.add_tokens([token])
    assert len(tokenizer) == before + 1


def test_names_of_special_tokens_in_a_text_are_text(tokenizer: WordCharTokenizer) -> None:
    assert tokenizer.tokenize("the[PAD] [UNK]") == ["the", "[", "PAD", "]", "[", "UNK", "]"]
    assert 0 not in tokenizer("the[PAD] cat")["input_ids"]


def test_one_text_is_plain(tokenizer: WordCharTokenizer) -> None:
    encoded = tokenizer("The cat", return_offsets_mapping=True)
    assert set(encoded) == {"input_ids", "attention_mask", "char_ids", "offset_mapping"}
    assert encoded["input_ids"] == [2, 6]
    assert encoded["offset_mapping"] == [(0, 3), (4, 7)]
    assert tokenizer("")["input_ids"] == []
    assert tokenizer(["", "the cat"], padding=True)["input_ids"] == [[0, 0], [2, 6]]
    assert tokenizer("the cat dog", truncation=True, max_length=2)["input_ids"] == [2, 6]


def test_without_characters_and_features(plain: WordCharTokenizer) -> None:
    assert set(plain("the", "cat")) == {
        "input_ids",
        "attention_mask",
        "question_input_ids",
        "question_attention_mask",
    }
    assert set(plain("the", "cat")) == set(plain.model_input_names)


def test_batch_equals_single(tokenizer: WordCharTokenizer) -> None:
    questions = [f"what is number {i} ?" for i in range(len(ODD_TEXTS))]
    batch = tokenizer(questions, ODD_TEXTS, return_offsets_mapping=True)
    for row, (question, context) in enumerate(zip(questions, ODD_TEXTS, strict=True)):
        single = tokenizer(question, context, return_offsets_mapping=True)
        assert {name: value[row] for name, value in batch.items()} == dict(single)


@pytest.mark.parametrize(
    "options",
    [
        {"padding": True},
        {"padding": "longest", "pad_to_multiple_of": 8},
        {"padding": "max_length", "max_length": 40},
        {"padding": "max_length", "max_length": 3},
    ],
)
def test_padding_in_the_call_equals_pad(tokenizer: WordCharTokenizer, options: dict[str, Any]) -> None:
    questions, contexts = ["the", "what is the cat , really ?", "a b"], ["a b c d", "x", "the cat in Paris and more"]
    called = tokenizer(questions, contexts, return_tensors="pt", truncation=False, **options)
    examples = [dict(tokenizer(q, c)) for q, c in zip(questions, contexts, strict=True)]
    for inputs in (examples, tokenizer(questions, contexts), called):
        padded = tokenizer.pad(inputs, return_tensors="pt", **options)
        assert padded.keys() == called.keys()
        for name, value in called.items():
            assert torch.equal(padded[name], value), name
    multiple = options.get("pad_to_multiple_of", 1)
    lengths = {"": max(options.get("max_length", 0), 7), "question_": 8}
    for prefix, length in lengths.items():
        rounded = -(-length // multiple) * multiple
        assert called[f"{prefix}input_ids"].shape == called[f"{prefix}attention_mask"].shape == (3, rounded)
        assert called[f"{prefix}char_ids"].shape == (3, rounded, 6)
        assert called[f"{prefix}word_features"].shape == (3, rounded, NUM_WORD_FEATURES)
        hidden = called[f"{prefix}attention_mask"] == 0
        for name in ("input_ids", "char_ids", "word_features"):
            assert not called[prefix + name][hidden].any()
        assert called[f"{prefix}attention_mask"].sum(1).tolist() == [
            len(example[f"{prefix}input_ids"]) for example in examples
        ]


def test_collator_pads_both_texts_and_keeps_labels(tokenizer: WordCharTokenizer) -> None:
    examples = [
        {**tokenizer("the", "a b c"), "start_positions": 1},
        {**tokenizer("a b c d", "cat"), "start_positions": 0},
    ]
    batch = DataCollatorWithPadding(tokenizer)(examples)
    assert batch["start_positions"].tolist() == [1, 0]
    assert batch["input_ids"].shape == (2, 4)
    assert batch["question_input_ids"].shape == (2, 5)


def test_pad_restores_missing_masks_and_leaves_its_input_alone(plain: WordCharTokenizer) -> None:
    example = {"input_ids": [1, 2, 3], "question_input_ids": [1, 2]}
    padded = plain.pad(example, padding="max_length", max_length=5)
    assert padded["attention_mask"] == [1, 1, 1, 0, 0]
    assert padded["question_attention_mask"] == [1, 1]
    assert example == {"input_ids": [1, 2, 3], "question_input_ids": [1, 2]}
    with pytest.raises(ValueError, match=r"input_ids.*labels"):
        plain.pad({"labels": [1]})


def test_offsets_are_padded(tokenizer: WordCharTokenizer) -> None:
    offsets = tokenizer(["a", "b"], ["x", "y z"], padding=True, return_offsets_mapping=True, return_tensors="pt")
    assert offsets["offset_mapping"].tolist() == [[[0, 0], [0, 1], [0, 0]], [[0, 0], [0, 1], [2, 3]]]


@pytest.mark.parametrize("truncation", [True, "only_second", "longest_first"])
def test_truncation_cuts_the_context_only(tokenizer: WordCharTokenizer, truncation: Any) -> None:
    question, context = "where is the cat ?", "the cat is in Paris"
    encoded = tokenizer(question, context, truncation=truncation, max_length=3, return_offsets_mapping=True)
    # What is cut off does not count in the features: training cuts first, too.
    expected = tokenizer(question, "the cat", return_offsets_mapping=True)
    assert dict(encoded) == dict(expected)
    assert dict(tokenizer(question, context, truncation=truncation, max_length=6)) == dict(tokenizer(question, context))


@pytest.mark.parametrize(("max_length", "stride"), [(4, 0), (4, 1), (5, 3), (2, 0), (50, 7)])
@pytest.mark.parametrize("words", [1, 3, 4, 5, 10, 11])
def test_windows(tokenizer: WordCharTokenizer, max_length: int, stride: int, words: int) -> None:
    contexts = ["the cat", "  ".join(f"w{i}" for i in range(words))]
    encoded = tokenizer(
        ["where ?", "who is it ?"],
        contexts,
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    samples = encoded["overflow_to_sample_mapping"]
    assert samples == sorted(samples)
    for sample, (question, context) in enumerate(zip(["where ?", "who is it ?"], contexts, strict=True)):
        whole = tokenizer(question, context, return_offsets_mapping=True)
        rows = [row for row, owner in enumerate(samples) if owner == sample]
        covered: list[tuple[int, int]] = []
        for row in rows:
            offsets = encoded["offset_mapping"][row]
            assert offsets[0] == (0, 0)
            assert len(offsets) <= max_length
            overlap = stride if covered else 0
            assert offsets[1:][:overlap] == covered[len(covered) - overlap :]
            covered += offsets[1:][overlap:]
            assert encoded["question_input_ids"][row] == whole["question_input_ids"]
            first = context[offsets[1][0] : offsets[-1][1]]
            assert encoded["input_ids"][row] == tokenizer(question, first)["input_ids"]
            assert encoded["word_features"][row] == tokenizer(question, first)["word_features"]
        assert covered == whole["offset_mapping"][1:]
        assert all(len(encoded["input_ids"][row]) == max_length for row in rows[:-1])


def test_windows_without_need_and_as_tensors(tokenizer: WordCharTokenizer) -> None:
    one = tokenizer("a", "b c", return_overflowing_tokens=True)
    assert one["overflow_to_sample_mapping"] == [0]
    assert len(one["input_ids"]) == 1
    several = tokenizer(
        "a",
        "b c d e f",
        truncation=True,
        max_length=3,
        return_overflowing_tokens=True,
        padding=True,
        return_tensors="pt",
    )
    assert several["input_ids"].shape == (3, 3)
    assert several["overflow_to_sample_mapping"].tolist() == [0, 0, 0]


def test_model_max_length_is_the_default_limit() -> None:
    tokenizer = build_word_char_tokenizer(WORDS, characters=None, model_max_length=3)
    assert len(tokenizer("a", "b c d", truncation=True)["input_ids"]) == 3
    assert tokenizer(["a"], ["b"], padding="max_length")["attention_mask"] == [[1, 1, 0]]


def test_masks_on_request(plain: WordCharTokenizer) -> None:
    encoded = plain(["a", "b c"], ["b", "c d"], return_attention_mask=False, padding=True)
    assert set(encoded) == {"input_ids", "question_input_ids"}


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("", "b"), {}, ValueError, "question 0"),
        (("a", ""), {}, ValueError, "context 0"),
        ((["a", "b"], ["c", " \n\t "]), {}, ValueError, "context 1"),
        ((["a", "b"], ["c"]), {}, ValueError, "2 questions do not match 1 contexts"),
        (([], []), {}, ValueError, "no question"),
        (("a", ["b"]), {}, TypeError, "context must be a string, like the question, got list of str"),
        ((["a"], "b"), {}, TypeError, "context must be a list of strings"),
        ((["a", None], ["b", "c"]), {}, TypeError, "question must be .*NoneType"),
        (([("a", "b")],), {}, TypeError, "text must be .*tuple"),
        (("a", "b\ud800"), {}, ValueError, "context 0 .*surrogate"),
        (("a", "b"), {"truncation": True, "max_length": 1}, ValueError, "max_length=1 leaves no word"),
        (("a", "b"), {"truncation": "only_first", "max_length": 5}, ValueError, "only_first"),
        (("a",), {"truncation": "only_second", "max_length": 5}, ValueError, "only_second"),
        (("a", "b"), {"is_split_into_words": True}, ValueError, "is_split_into_words"),
        (("a", "b"), {"add_special_tokens": False}, ValueError, "add_special_tokens"),
        (("a", "b"), {"return_token_type_ids": True}, ValueError, "return_token_type_ids"),
        (("a", "b"), {"return_special_tokens_mask": True}, ValueError, "return_special_tokens_mask"),
        (("a", "b"), {"padding": True, "padding_side": "left"}, ValueError, "padding_side='left'"),
        (("a", "b"), {"max_lenght": 5}, TypeError, "max_lenght"),
    ],
)
def test_bad_input(
    tokenizer: WordCharTokenizer, arguments: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tokenizer(*arguments, **options)


@pytest.mark.parametrize("stride", [-1, 3, 4])
def test_bad_stride(tokenizer: WordCharTokenizer, stride: int) -> None:
    with pytest.raises(ValueError, match=f"stride={stride} must be at least 0 and below 3"):
        tokenizer("a", "b", truncation=True, max_length=4, stride=stride, return_overflowing_tokens=True)


@pytest.mark.parametrize(
    ("words", "characters", "length", "message"),
    [
        (["a", "b", "a"], None, 16, r"word 'a' occurs twice \(ids 2 and 4\)"),
        (["a", "[UNK]"], None, 16, "'\\[UNK\\]' occurs twice"),
        (["a"], ["x", "x"], 16, "character 'x' occurs twice"),
        (["a"], ["xy"], 16, "'xy'"),
        (["a"], [""], 16, "''"),
        (["a"], ["x"], 0, "max_word_length must be at least 1, got 0"),
    ],
)
def test_bad_vocabulary(words: list[str], characters: list[str] | None, length: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_word_char_tokenizer(words, characters=characters, max_word_length=length)


def test_ids_tokens_and_text(tokenizer: WordCharTokenizer) -> None:
    assert len(tokenizer) == tokenizer.vocab_size == len(WORDS) + 2
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 8]) == ["[PAD]", "[UNK]", "the", "n't"]
    ids = tokenizer("The dog , the cat")["input_ids"]
    assert tokenizer.decode(ids) == "the [UNK] , the cat"
    assert tokenizer.decode([*ids, 0, 0], skip_special_tokens=True) == "the , the cat"
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    assert tokenizer.encode("The cat") == [2, 6]


def test_characters(tokenizer: WordCharTokenizer) -> None:
    assert tokenizer.char_vocab is not None
    assert tokenizer.character_ids("catz") == (4, 2, 13, 1)
    assert len(tokenizer.character_ids("a" * 40)) == 6
    assert sorted(tokenizer.char_vocab.values()) == list(range(2, 2 + len(CHARACTERS)))


def test_many_words_keep_their_ids() -> None:
    # Beyond 100,000 words transformers looks for a pattern of another tokenizer to repair.
    words = [f"w{i}" for i in range(100_001)]
    tokenizer = build_word_char_tokenizer(words, characters=None)
    picked = random.Random(0).sample(range(len(words)), 50)
    assert tokenizer(" ".join(words[i] for i in picked))["input_ids"] == [i + 2 for i in picked]
    assert tokenizer.tokenize("don't") == ["do", "n't"]


def saved(folder: Path) -> WordCharTokenizer:
    tokenizer = build_word_char_tokenizer(
        [*WORDS, "é", "👩"],
        characters=[*CHARACTERS, "\x00", '"', "👩", "\u200b"],
        max_word_length=6,
        word_features=True,
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def test_save_and_load(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path)
    loaded = WordCharTokenizer.from_pretrained(tmp_path)
    assert loaded.char_vocab == tokenizer.char_vocab
    assert (loaded.max_word_length, loaded.word_features) == (6, True)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert loaded.model_input_names == tokenizer.model_input_names
    for text in ODD_TEXTS:
        assert dict(loaded("Is it ``so''?", text)) == dict(tokenizer("Is it ``so''?", text))
    again = tmp_path / "again"
    loaded.save_pretrained(again)
    assert (again / "tokenizer.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


REMOTE = """
    import json, sys
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=True)
    again = FOLDER + "/again"
    tokenizer.save_pretrained(again)
    tokenizer = AutoTokenizer.from_pretrained(again, trust_remote_code=True)
    encoded = tokenizer("the cat?", TEXT, truncation=True, max_length=5, stride=1, padding=True,
                        return_overflowing_tokens=True, return_offsets_mapping=True)
    print(json.dumps([type(tokenizer).__module__, dict(encoded)]))
"""


@pytest.mark.slow
def test_auto_tokenizer_with_and_without_the_package(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path)
    text = " ".join(ODD_TEXTS)
    expected = tokenizer(
        *("the cat?", text),
        **{"truncation": True, "max_length": 5, "stride": 1, "padding": True},
        **{"return_overflowing_tokens": True, "return_offsets_mapping": True},
    )
    local = AutoTokenizer.from_pretrained(tmp_path)
    assert type(local) is WordCharTokenizer
    program = REMOTE.replace("FOLDER", repr(str(tmp_path))).replace("TEXT", repr(text))
    module, encoded = json.loads(run_warm(program, env=offline(), without_ctxzoo=True).stdout.splitlines()[-1])
    assert module.startswith("transformers_modules.")
    assert encoded == json.loads(json.dumps(dict(expected)))


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
    assert len({stem_word(form) for form in forms.split()}) == 1


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
    assert len({stem_word(word) for word in words}) == len(words)


@pytest.mark.parametrize("word", ["1990s", "n't", "'s", "U.S.", "``", "", "\x00", "e\u0301s"])
def test_words_with_other_signs_are_only_lower_cased(word: str) -> None:
    assert stem_word(word) == word.lower()


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
    assert [classify_word_shape(word) for word in words] == [shape] * len(words)


def test_features_of_a_sentence() -> None:
    context = ["The", "cities", "the", "city", "Paris", "1990"]
    question = ["the", "City", "paris", "?"]
    rows = compute_word_features(context, question)
    as_is, lower, stems, frequency = zip(*(row[:4] for row in rows), strict=True)
    assert as_is == (0, 0, 1, 0, 0, 0)
    assert lower == (1, 0, 1, 1, 1, 0)
    assert stems == (1, 1, 1, 1, 1, 0)
    assert frequency == pytest.approx([2 / 6, 1 / 6, 2 / 6, 1 / 6, 1 / 6, 1 / 6])
    assert [row[4:].index(1.0) for row in rows] == [1, 0, 0, 0, 1, 4]
    assert all(sum(row[4:]) == 1 for row in rows)


def test_both_directions_and_empty_text() -> None:
    assert [row[0] for row in compute_word_features(["a", "b"], ["b", "c", "b"])] == [0, 1]
    assert [row[0] for row in compute_word_features(["b", "c", "b"], ["a", "b"])] == [1, 0, 1]
    assert compute_word_features([], ["a"]) == []
    assert [row[:3] for row in compute_word_features(["a"], [])] == [[0, 0, 0]]


def test_width_is_the_config_s_default() -> None:
    assert {len(row) for row in compute_word_features(["a", "."], ["b"])} == {NUM_WORD_FEATURES}
    assert NUM_WORD_FEATURES == 4 + NUM_WORD_SHAPES == WORD_FEATURES
