import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, pre_tokenizers
from transformers import DataCollatorWithPadding, PretrainedConfig, PreTrainedModel, TextClassificationPipeline
from transformers.modeling_outputs import SequenceClassifierOutput

from ctxzoo.models.ops_ngrams import generate_character_ngrams, hash_ngram
from ctxzoo.models.tokenization_word import (
    PreTokenizerName,
    WordTokenizer,
    build_pre_tokenizer,
    build_word_tokenizer,
    pre_tokenize,
)
from tests.support.doors import offline
from tests.support.warm_python import run_warm

WORDS = ["good", "not", "a", "film", "i̇x", "é"]
ODD_TEXTS = [
    "  Not\tA  good\nfilm ",
    "unknown NOT [PAD] good",
    "İX ßß Good İx",
    "",
    "\u3000 \u00a0",
    "nothing here",
    "É e\u0301 É",
    "👍🏽 film 👩\u200d👩\u200d👧 film",
    "nul\x00film film\x00 film",
]


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return build_word_tokenizer(WORDS)


@pytest.fixture(scope="module")
def hashed() -> WordTokenizer:
    return build_word_tokenizer(WORDS, ngram_buckets=1000, ngram_order=3, char_ngrams=(2, 3))


def test_ids_count_from_one_in_the_order_given(tokenizer: WordTokenizer) -> None:
    assert tokenizer("good not a film")["input_ids"] == [1, 2, 3, 4]
    assert (tokenizer.pad_token_id, len(tokenizer), tokenizer.num_ids) == (0, 7, 7)


def test_unknown_words_are_removed_and_attention_covers_what_remains(tokenizer: WordTokenizer) -> None:
    encoded = tokenizer("the good unknown film")
    assert dict(encoded) == {"input_ids": [1, 4], "attention_mask": [1, 1]}
    assert tokenizer.tokenize("the Good unknown film") == ["good", "film"]


@pytest.mark.parametrize("lower_case", [True, False])
def test_the_name_of_padding_in_a_text_is_removed(lower_case: bool) -> None:
    tokenizer = build_word_tokenizer(["good", "film", "x[PAD]" if not lower_case else "x[pad]"], lower_case=lower_case)
    assert tokenizer("[PAD] good [PAD] film[PAD] x[PAD] good")["input_ids"] == [1, 3, 1]
    assert tokenizer(["[PAD]"], is_split_into_words=True)["input_ids"] == []


def test_lower_casing_is_an_option() -> None:
    assert build_word_tokenizer(["a"])("A a").input_ids == [1, 1]
    tokenizer = build_word_tokenizer(["a", "A"], lower_case=False)
    assert tokenizer("A a").input_ids == [2, 1]
    assert not tokenizer.lower_case


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_offsets_cut_the_words_out_of_the_text_as_given(tokenizer: WordTokenizer, text: str) -> None:
    encoded = tokenizer(text, return_offsets_mapping=True)
    words = [text[begin:end] for begin, end in encoded["offset_mapping"]]
    known = [word for word in text.split() if word.lower() in WORDS]
    assert words == known
    assert encoded["input_ids"] == [WORDS.index(word.lower()) + 1 for word in words]


@pytest.mark.parametrize("fixture", ["tokenizer", "hashed"])
def test_batch_equals_single(fixture: str, request: pytest.FixtureRequest) -> None:
    tokenizer = request.getfixturevalue(fixture)
    batch = tokenizer(ODD_TEXTS, return_offsets_mapping=True, truncation=True, max_length=2)
    for row, text in enumerate(ODD_TEXTS):
        single = tokenizer(text, return_offsets_mapping=True, truncation=True, max_length=2)
        assert {name: value[row] for name, value in batch.items()} == dict(single)


def test_truncation_counts_the_words_that_remain(tokenizer: WordTokenizer) -> None:
    encoded = tokenizer("the the Not the a film", truncation=True, max_length=2, return_offsets_mapping=True)
    assert encoded["input_ids"] == [2, 3]
    assert encoded["offset_mapping"] == [(8, 11), (16, 17)]
    short = build_word_tokenizer(WORDS, model_max_length=1)
    assert short("the not a", truncation=True)["input_ids"] == [2]


def test_words_given_apart(tokenizer: WordTokenizer) -> None:
    options: dict[str, Any] = {"is_split_into_words": True, "return_offsets_mapping": True}
    single = tokenizer(["Not", "the", "", "a  film"], **options)
    assert dict(single) == {
        "input_ids": [2, 3, 4],
        "offset_mapping": [(0, 3), (0, 1), (3, 7)],
        "attention_mask": [1, 1, 1],
    }
    batch = tokenizer([["not"], [], ("a", "film")], is_split_into_words=True)
    assert batch["input_ids"] == [[2], [], [3, 4]]
    assert tokenizer([], is_split_into_words=True)["input_ids"] == []


@pytest.mark.parametrize(
    "options",
    [
        {"padding": True},
        {"padding": "longest", "pad_to_multiple_of": 4},
        {"padding": "max_length", "max_length": 6},
    ],
)
def test_padding_in_the_call_equals_pad(tokenizer: WordTokenizer, options: dict[str, Any]) -> None:
    called = tokenizer(ODD_TEXTS, return_tensors="pt", return_offsets_mapping=True, **options)
    examples = [dict(tokenizer(text, return_offsets_mapping=True)) for text in ODD_TEXTS]
    padded = tokenizer.pad(examples, return_tensors="pt", **options)
    assert padded.keys() == called.keys()
    for name, value in called.items():
        assert torch.equal(padded[name], value), name
        assert value.dtype == torch.int64
    width = 6 if options["padding"] == "max_length" else 4
    assert called["input_ids"].shape == called["attention_mask"].shape == (len(ODD_TEXTS), width)
    assert called["offset_mapping"].shape == (len(ODD_TEXTS), width, 2)
    assert torch.equal(called["attention_mask"], (called["input_ids"] != 0).long())


def test_a_text_without_a_known_word(tokenizer: WordTokenizer) -> None:
    assert dict(tokenizer("unknown")) == {"input_ids": [], "attention_mask": []}
    batch = tokenizer(["unknown", "a film"], padding=True)
    assert dict(batch) == {"input_ids": [[0, 0], [3, 4]], "attention_mask": [[0, 0], [1, 1]]}
    for texts, rows in (("", 1), (["", "unknown"], 2)):
        encoded = tokenizer(texts, padding=True, return_tensors="pt")
        for value in encoded.values():
            assert value.shape == (rows, 0)
            assert value.dtype == torch.int64
    assert tokenizer("", return_tensors="np")["input_ids"].dtype == np.int64


def test_collator_keeps_labels(tokenizer: WordTokenizer) -> None:
    examples = [{**tokenizer("a good film"), "labels": 1}, {**tokenizer("unknown"), "labels": 0}]
    batch = DataCollatorWithPadding(tokenizer)(examples)
    assert batch["labels"].tolist() == [1, 0]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 0]]


def test_hashes_never_change() -> None:
    """A trained model knows its buckets by these numbers."""
    assert hash_ngram("not good") == 15494340167645572838
    assert hash_ngram("<é") == 2059625632820357055
    assert hash_ngram("") == 13020603013274838756


def test_character_ngrams_are_those_of_fasttext() -> None:
    assert list(generate_character_ngrams("ab", 1, 3)) == ["<a", "<ab", "a", "ab", "ab>", "b", "b>"]
    assert list(generate_character_ngrams("where", 3, 3)) == ["<wh", "whe", "her", "ere", "re>"]
    assert list(generate_character_ngrams("é", 3, 6)) == ["<é>"]
    assert list(generate_character_ngrams("a", 4, 6)) == []


def test_ngrams_of_all_words_follow_the_words_that_are_known(hashed: WordTokenizer) -> None:
    words = ["not", "thé", "film"]
    ngrams = ["not thé", "thé film", "not thé film"]
    ngrams += [ngram for word in words for ngram in generate_character_ngrams(word, 2, 3)]
    expected = [2, 4, *(7 + hash_ngram(ngram) % 1000 for ngram in ngrams)]
    encoded = hashed("Not THÉ Film", return_offsets_mapping=True)
    assert encoded["input_ids"] == expected
    assert encoded["attention_mask"] == [1] * len(expected)
    assert encoded["offset_mapping"] == [(0, 3), (8, 12), *[(0, 0)] * len(ngrams)]
    assert hashed(["Not", "THÉ", "Film"], is_split_into_words=True)["input_ids"] == expected
    assert hashed.num_ids == 7 + 1000
    assert 7 <= min(expected[2:]) <= max(expected) < hashed.num_ids
    assert hashed("thé")["input_ids"] == expected[-9 - 7 : -9]
    assert hashed("  ")["input_ids"] == []


def test_character_ngrams_can_have_ids_of_their_own() -> None:
    both = build_word_tokenizer(WORDS, ngram_buckets=1000, ngram_order=2, char_ngrams=(3, 3), char_ngram_buckets=500)
    alone = build_word_tokenizer(WORDS, char_ngrams=(3, 3), char_ngram_buckets=500)
    first = len(WORDS) + 1
    text = " ".join(WORDS[:2])
    known = [1, 2]
    pairs = [first + hash_ngram(text) % 1000]
    characters = [hash_ngram(ngram) % 500 for word in WORDS[:2] for ngram in generate_character_ngrams(word, 3, 3)]
    assert both(text)["input_ids"] == [*known, *pairs, *(first + 1000 + index for index in characters)]
    assert alone(text)["input_ids"] == [*known, *(first + index for index in characters)]
    assert (both.num_ids, alone.num_ids) == (first + 1500, first + 500)


def test_ngrams_come_on_top_of_the_maximum_length(hashed: WordTokenizer) -> None:
    cut = hashed("not the a film good", truncation=True, max_length=2)["input_ids"]
    assert cut == hashed("not the a")["input_ids"]
    assert hashed("not a the", truncation=True, max_length=2)["input_ids"] == hashed("not a the")["input_ids"]
    with pytest.raises(ValueError, match=r"max_length=3: with its n-grams a text has \d+ ids; use padding=True"):
        hashed("not a", padding="max_length", max_length=3)


def test_orders_and_characters_are_apart() -> None:
    bigrams = build_word_tokenizer(WORDS, ngram_buckets=9, ngram_order=2)
    assert len(bigrams("not a film")["input_ids"]) == 3 + 2
    characters = build_word_tokenizer(WORDS, ngram_buckets=9, char_ngrams=(3, 4))
    assert len(characters("a film a")["input_ids"]) == 3 + 1 + (4 + 3) + 1


ENGLISH = {
    "I don't think it's bad, we've": "I do n't think it 's bad , we 've",
    "They’ll say you’re “fine”; he'd CAN'T": "They ’ll say you ’re “ fine ” ; he 'd CA N'T",
    "dont cannot gonna, but plant, canny": "do nt can not gon na , but plant , canny",
    "The U.S. and Mr. Smith, e.g. J. Doe.": "The U.S. and Mr. Smith , e.g. J. Doe .",
    "the end.The film.I saw imdb.com": "the end . The film . I saw imdb . com",
    "a well-made 30-year-old 1990-91 covid-19": "a well - made 30 - year - old 1990 - 91 covid-19",
    "$3.50 for 1,000 at 10:30, 9/10!! and/or 50%": "$ 3.50 for 1,000 at 10:30 , 9/10 ! ! and / or 50 %",
    "one<br />two<br/><br>three\\nfour \\n\\nfive": "one two three four five",
    r"he said \"no\" (really)...": 'he said " no " ( really ) ...',
    "O'Brien's dogs' o'clock AT&T": "O'Brien 's dogs ' o'clock AT&T",
    "good :-) or ;D -- see http://a.b/c?d=1.": "good :-) or ;D -- see http://a.b/c?d=1 .",
    "\u00a0 naïve cafe\u0301\x85x": "naïve cafe\u0301 x",
}


@pytest.mark.parametrize(("text", "words"), ENGLISH.items())
def test_english_is_cut_into_words_and_signs(text: str, words: str) -> None:
    assert pre_tokenize(build_pre_tokenizer(lower_case=False, pre_tokenizer="english"), text) == words.split()
    assert pre_tokenize(build_pre_tokenizer(lower_case=True, pre_tokenizer="english"), text) == words.lower().split()


@pytest.mark.parametrize("lower_case", [True, False])
def test_every_english_word_can_be_in_a_vocabulary(lower_case: bool) -> None:
    backend = build_pre_tokenizer(lower_case, "english")
    words = sorted({word for text in (*ENGLISH, *ODD_TEXTS) for word in pre_tokenize(backend, text)})
    tokenizer = build_word_tokenizer(words, lower_case=lower_case, pre_tokenizer="english")
    for text in (*ENGLISH, *ODD_TEXTS):
        assert tokenizer.tokenize(text) == pre_tokenize(backend, text)
    message = r"don't.*: with .* the pre-tokenizer 'english' it is cut into \['do', \"n't\"\]"
    with pytest.raises(ValueError, match=message):
        build_word_tokenizer(["don't"], lower_case=lower_case, pre_tokenizer="english")


def test_offsets_of_english_words_point_into_the_text_as_given() -> None:
    tokenizer = build_word_tokenizer(["i̇x", "n't", "two", "."], pre_tokenizer="english")
    text = "İX didN'T<br />İx.Two"
    offsets = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    assert [text[begin:end] for begin, end in offsets] == ["İX", "N'T", "İx", ".", "Two"]


def test_saved_rules_for_english_need_no_code_of_ours(tmp_path: Path) -> None:
    words = ["do", "n't", "it", "'s", "film", ".", "u.s."]
    tokenizer = build_word_tokenizer(words, pre_tokenizer="english")
    tokenizer.save_pretrained(tmp_path)
    loaded = WordTokenizer.from_pretrained(tmp_path)
    assert loaded.lower_case
    text = "Don't: it's a U.S. film.It isn't."
    assert dict(loaded(text)) == dict(tokenizer(text))
    plain = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [index for index in plain.encode(text).ids if index] == loaded(text)["input_ids"]


def test_an_unknown_pre_tokenizer() -> None:
    with pytest.raises(ValueError, match="pre_tokenizer is 'french'; expected one of whitespace, english"):
        build_word_tokenizer(["a"], pre_tokenizer="french")  # type: ignore[arg-type]


def test_what_truncation_cuts_off(tokenizer: WordTokenizer, hashed: WordTokenizer) -> None:
    options: dict[str, Any] = {"truncation": True, "max_length": 2, "return_overflowing_tokens": True}
    for one in (tokenizer, hashed):
        encoded = one("good the not a unknown film", **options)
        assert encoded["input_ids"][:2] == [1, 2]
        assert (encoded["overflowing_tokens"], encoded["num_truncated_tokens"]) == ([3, 4], 2)
    assert tokenizer("good not a", stride=1, **options)["overflowing_tokens"] == [2, 3]
    batch = tokenizer(["good not", "a a film"], padding=True, **options)
    assert (batch["overflowing_tokens"], batch["num_truncated_tokens"]) == ([[], [4]], [0, 1])
    whole = tokenizer("a film", return_overflowing_tokens=True)
    assert (whole["overflowing_tokens"], whole["num_truncated_tokens"]) == ([], 0)


def test_save_and_load(hashed: WordTokenizer, tmp_path: Path) -> None:
    hashed.save_pretrained(tmp_path)
    loaded = WordTokenizer.from_pretrained(tmp_path)
    again = tmp_path / "again"
    loaded.save_pretrained(again)
    assert (again / "tokenizer.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
    for copy in (loaded, WordTokenizer.from_pretrained(again)):
        for name in ("lower_case", "ngram_buckets", "ngram_order", "char_ngrams", "num_ids", "model_input_names"):
            assert getattr(copy, name) == getattr(hashed, name), name
        assert copy.get_vocab() == hashed.get_vocab()
        for options in ({}, {"padding": True, "truncation": True, "max_length": 2}):
            assert dict(copy(ODD_TEXTS, **options)) == dict(hashed(ODD_TEXTS, **options))


def test_save_and_load_after_use_and_without_options(tmp_path: Path) -> None:
    tokenizer = build_word_tokenizer(["A", "a"], lower_case=False, model_max_length=3)
    tokenizer("A a a a a", truncation=True, padding=True)
    tokenizer.save_pretrained(tmp_path)
    loaded = WordTokenizer.from_pretrained(tmp_path)
    assert (loaded.lower_case, loaded.num_ids, loaded.char_ngrams, loaded.model_max_length) == (False, 3, None, 3)
    assert loaded("[PAD] A a A a a")["input_ids"] == [1, 2, 1, 2, 2]


REMOTE = """
    import json
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=True)
    again = FOLDER + "/again"
    tokenizer.save_pretrained(again)
    tokenizer = AutoTokenizer.from_pretrained(again, trust_remote_code=True)
    encoded = tokenizer(TEXTS, truncation=True, max_length=2, padding=True, return_offsets_mapping=True)
    print(json.dumps([type(tokenizer).__module__, tokenizer.num_ids, dict(encoded)]))
"""


@pytest.mark.slow
def test_auto_tokenizer_without_the_package(
    hashed: WordTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WordTokenizer, "_auto_class", "AutoTokenizer")
    hashed.save_pretrained(tmp_path)
    expected = hashed(ODD_TEXTS, truncation=True, max_length=2, padding=True, return_offsets_mapping=True)
    program = REMOTE.replace("FOLDER", repr(str(tmp_path))).replace("TEXTS", repr(ODD_TEXTS))
    module, num_ids, encoded = json.loads(run_warm(program, env=offline(), without_ctxzoo=True).stdout.splitlines()[-1])
    assert module.startswith("transformers_modules.")
    assert num_ids == hashed.num_ids
    assert encoded == json.loads(json.dumps(dict(expected)))


def test_many_words_keep_their_ids(tmp_path: Path) -> None:
    # Beyond 100,000 words transformers looks for a pattern of another tokenizer to repair.
    words = [f"w{i}" for i in range(100_001)]
    build_word_tokenizer(words).save_pretrained(tmp_path)
    tokenizer = WordTokenizer.from_pretrained(tmp_path)
    picked = random.Random(0).sample(range(len(words)), 50)
    assert tokenizer(" ".join(words[i] for i in picked))["input_ids"] == [i + 1 for i in picked]
    assert tokenizer("don't w1")["input_ids"] == [2]


def test_words_and_ids(tokenizer: WordTokenizer) -> None:
    assert tokenizer.convert_ids_to_tokens([0, 1, 4]) == ["[PAD]", "good", "film"]
    assert tokenizer.decode(tokenizer("Not a unknown film")["input_ids"]) == "not a film"
    assert tokenizer.encode("A film") == [3, 4]


class BagConfig(PretrainedConfig):
    model_type = "test_bag"


class BagForSequenceClassification(PreTrainedModel):
    """Scores: the sum of the ids, and its negative."""

    config: BagConfig

    def __init__(self, config: BagConfig) -> None:
        super().__init__(config)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.post_init()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SequenceClassifierOutput:
        total = self.scale * (input_ids * attention_mask).sum(1)
        return SequenceClassifierOutput(logits=torch.stack([total, -total], dim=1))


@pytest.mark.parametrize("batch_size", [1, 2])
def test_the_stock_pipeline(tokenizer: WordTokenizer, batch_size: int) -> None:
    model = BagForSequenceClassification(BagConfig(num_labels=2)).eval()
    pipe = TextClassificationPipeline(model=model, tokenizer=tokenizer)
    found = pipe(["Good", "unknown", "not the good", "not"], top_k=2, function_to_apply="none", batch_size=batch_size)
    scores = [{entry["label"]: entry["score"] for entry in row}["LABEL_0"] for row in found]
    assert scores == [1, 0, 3, 2]
    cut = pipe("not good good", truncation=True, max_length=1, top_k=1, function_to_apply="none")
    assert cut[0]["score"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["a", "A"],
            r"no text can give the word 'A': with lower_case=True, fold_digits=False and the pre-tokenizer "
            r"'whitespace' it is cut into \['a'\]",
        ),
        (["a b"], r"word 'a b'.*\['a', 'b'\]"),
        ([""], r"word ''.*\[\]"),
        (["a", "b", "a"], "word 'a' has the id 1 already"),
    ],
)
def test_words_that_cannot_be(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_word_tokenizer(words)


def test_the_name_of_padding_is_no_word() -> None:
    with pytest.raises(ValueError, match=r"word '\[PAD\]' is the name of id 0"):
        build_word_tokenizer(["a", "[PAD]"], lower_case=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ngram_buckets": -1}, "ngram_buckets is -1"),
        ({"ngram_order": 0}, "ngram_order is 0"),
        ({"char_ngram_buckets": -1}, "char_ngram_buckets is -1"),
        ({"char_ngram_buckets": 5}, "char_ngram_buckets=5 would stay empty; set char_ngrams"),
        ({"char_ngram_buckets": 5, "ngram_buckets": 5, "char_ngrams": (3, 4)}, "ngram_buckets=5 would stay empty"),
        ({"ngram_buckets": 5, "char_ngrams": (4, 3)}, r"char_ngrams is \(4, 3\)"),
        ({"ngram_buckets": 5, "char_ngrams": (0, 3)}, r"char_ngrams is \(0, 3\)"),
        ({"ngram_buckets": 5, "char_ngrams": (3,)}, r"char_ngrams is \(3,\)"),
        ({"ngram_order": 2}, "ngram_order=2, char_ngrams=None need ngram_buckets"),
        ({"ngram_buckets": 5}, "ngram_buckets=5 would stay empty"),
    ],
)
def test_ngram_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_word_tokenizer(["a"], **options)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("a", "b"), {}, ValueError, "does not offer a pair of texts"),
        ((["a"], ["b"]), {}, ValueError, "does not offer a pair of texts"),
        (([("a", "b")],), {}, TypeError, "tuple as number 0 of a list"),
        ((["a", None],), {}, TypeError, "NoneType as number 1 of a list"),
        ((3,), {}, TypeError, "a text must be a string, a batch a list of such; got int"),
        (("a",), {"is_split_into_words": True}, TypeError, "a text must be a list of words.*got str"),
        (([],), {}, ValueError, "no text in the batch"),
        (("a \ud800 film",), {}, ValueError, r"text 0 holds half of a surrogate pair.*ud800"),
        (([["b"], ["\udc00"]],), {"is_split_into_words": True}, ValueError, "text 1 holds half of a surrogate pair"),
        (("a",), {"return_token_type_ids": True}, ValueError, "does not offer return_token_type_ids"),
        (("a",), {"truncation": "only_second", "max_length": 2}, ValueError, "does not offer truncation"),
        (("a",), {"truncation": True, "max_length": 0}, ValueError, "max_length=0 leaves no word"),
        (("a",), {"padding": True, "padding_side": "left"}, ValueError, "padding_side='left'"),
        (("a",), {"typo": 1}, TypeError, "no option 'typo'"),
    ],
)
def test_bad_calls(
    tokenizer: WordTokenizer, arguments: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tokenizer(*arguments, **options)


@pytest.fixture(scope="module")
def keeping() -> WordTokenizer:
    return build_word_tokenizer(["good", "film", "0000", "a0"], fold_digits=True, keep_unknown=True)


def test_unknown_words_are_kept_on_request(keeping: WordTokenizer) -> None:
    assert (keeping.unk_token_id, len(keeping), keeping.num_ids) == (1, 6, 6)
    encoded = keeping("The Good [PAD] [UNK] film", return_offsets_mapping=True)
    assert encoded["input_ids"] == [1, 2, 1, 1, 3]
    assert encoded["offset_mapping"] == [(0, 3), (4, 8), (9, 14), (15, 20), (21, 25)]
    assert keeping(["x", "Film", "[PAD]"], is_split_into_words=True)["input_ids"] == [1, 3, 1]
    assert keeping("x y z film", truncation=True, max_length=2)["input_ids"] == [1, 1]
    with pytest.raises(ValueError, match=r"word '\[UNK\]' is the name of id 1"):
        build_word_tokenizer(["a", "[UNK]"], lower_case=False, keep_unknown=True)
    with pytest.raises(ValueError, match="keep_unknown with ngram_buckets=5"):
        build_word_tokenizer(["a"], keep_unknown=True, ngram_buckets=5, ngram_order=2)


def test_digits_are_folded_on_request(keeping: WordTokenizer, tokenizer: WordTokenizer) -> None:
    assert keeping("1995 A7 ٣٤٥٦", return_offsets_mapping=True)["input_ids"] == [4, 5, 4]
    assert (keeping.fold_digits, tokenizer.fold_digits) == (True, False)
    assert (keeping.lower_case, keeping.keeps_unknown, tokenizer.keeps_unknown) == (True, True, False)
    as_written = build_word_tokenizer(["A0"], lower_case=False, fold_digits=True)
    assert as_written("A5 a5")["input_ids"] == [1]
    with pytest.raises(ValueError, match=r"no text can give the word '17': .*fold_digits=True .* cut into \['00'\]"):
        build_word_tokenizer(["17"], fold_digits=True)


def test_ids_know_their_words_where_none_is_removed(keeping: WordTokenizer, tokenizer: WordTokenizer) -> None:
    sentences = [["The", "film"], ["good"], ["a", "good", "film", "indeed"]]
    options: dict[str, Any] = {"is_split_into_words": True, "truncation": True, "max_length": 3}
    for padding in ({}, {"padding": True}, {"padding": "max_length"}):
        batch = keeping(sentences, **options, **padding)
        width = 3 if padding else 0
        for row, sentence in enumerate(sentences):
            words = [*range(len(sentence))][:3]
            assert batch.word_ids(row) == words + [None] * (width - len(words))
    single = keeping(sentences[0], is_split_into_words=True)
    assert (single["input_ids"], single.word_ids()) == ([1, 3], [0, 1])
    with pytest.raises(ValueError, match="word_ids"):
        tokenizer(sentences, is_split_into_words=True).word_ids(0)


def test_padding_is_special_and_words_are_not(keeping: WordTokenizer, tokenizer: WordTokenizer) -> None:
    for each in (keeping, tokenizer):
        masks = each(["good film", "good"], return_special_tokens_mask=True, padding=True)["special_tokens_mask"]
        assert masks == [[0, 0], [0, 1]]


def test_a_tokenizer_that_keeps_words_comes_back_from_its_files(keeping: WordTokenizer, tmp_path: Path) -> None:
    keeping.save_pretrained(tmp_path)
    again = WordTokenizer.from_pretrained(tmp_path)
    assert again("The 17 films Good")["input_ids"] == keeping("The 17 films Good")["input_ids"] == [1, 1, 1, 2]
    assert (again.keeps_unknown, again.fold_digits) == (True, True)


def test_words_cannot_be_added_later(tokenizer: WordTokenizer) -> None:
    with pytest.raises(ValueError, match=r"cannot add \['new'\]"):
        tokenizer.add_tokens(["film", "new"])
    assert tokenizer.num_ids == 7


@pytest.mark.parametrize("lower_case", [True, False])
def test_folded_digits(lower_case: bool) -> None:
    tokenizer = build_word_tokenizer(["in", "0000", "b0", "0"], lower_case=lower_case, fold_digits=True)
    text = "in 1984 , b7 ٣ 1985"
    encoded = tokenizer(text, return_offsets_mapping=True)
    assert encoded["input_ids"] == [1, 2, 3, 4, 2]
    assert [text[begin:end] for begin, end in encoded["offset_mapping"]] == ["in", "1984", "b7", "٣", "1985"]
    assert (tokenizer.fold_digits, tokenizer.lower_case) == (True, lower_case)
    assert not build_word_tokenizer(["a"]).fold_digits
    with pytest.raises(ValueError, match=r"the word '7': with .*fold_digits=True .* into \['0'\]"):
        build_word_tokenizer(["7"], fold_digits=True)


def test_mask_token(tmp_path: Path) -> None:
    built = build_word_tokenizer(["the", "mill", "0"], mask_token=True, fold_digits=True, pre_tokenizer="english")
    built.save_pretrained(tmp_path)
    for tokenizer in (built, WordTokenizer.from_pretrained(tmp_path)):
        assert (tokenizer.pad_token_id, tokenizer.mask_token_id, tokenizer("the")["input_ids"]) == (0, 1, [2])
        encoded = tokenizer("The [MASK], an old[MASK]mill 7", return_offsets_mapping=True)
        assert encoded["input_ids"] == [2, 1, 1, 3, 4]
        assert encoded["offset_mapping"] == [(0, 3), (4, 10), (18, 24), (24, 28), (29, 30)]
        assert tokenizer("[mask] [PAD]")["input_ids"] == []
        assert tokenizer.decode([2, 1, 3]) == "the [MASK] mill"
        assert tokenizer.decode([2, 1, 3], skip_special_tokens=True) == "the mill"
    assert build_word_tokenizer(["the"])("[MASK] the")["input_ids"] == [1]
    with pytest.raises(ValueError, match=r"word '\[MASK\]' is the name of id 1"):
        build_word_tokenizer(["[MASK]"], lower_case=False, mask_token=True)
    with pytest.raises(ValueError, match="would tell of a masked word"):
        build_word_tokenizer(["a"], mask_token=True, ngram_buckets=5, ngram_order=2)


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("pre_tokenizer", ["whitespace", "english"])
def test_every_id_is_of_the_words_that_it_was_made_of(pre_tokenizer: PreTokenizerName, limit: int | None) -> None:
    ngrams: dict[str, Any] = {"ngram_buckets": 50, "char_ngram_buckets": 20, "ngram_order": 3, "char_ngrams": (2, 4)}
    own = {} if limit is None else {"model_max_length": limit}
    tokenizer = build_word_tokenizer(["the", "lamp", "solid"], pre_tokenizer=pre_tokenizer, **ngrams, **own)
    text = "  The LAMP, wobly [PAD]\tisn't SOLID ünd"
    offsets, spans = tokenizer.map_ids_to_words(text)
    words = [text[begin:end].lower() for begin, end in offsets]
    ids = tokenizer(text, truncation=limit is not None)["input_ids"]
    assert len(spans) == len(ids)
    if limit:
        assert words[-1] == {"english": "lamp", "whitespace": "ünd"}[pre_tokenizer]
    for index, (first, end) in zip(ids, spans, strict=True):
        if index < len(tokenizer):
            assert tokenizer.convert_ids_to_tokens(index) == words[first]
            assert end == first + 1
        elif index < len(tokenizer) + 50:
            assert index == len(tokenizer) + hash_ngram(" ".join(words[first:end])) % 50
            assert 2 <= end - first <= 3
        else:
            made = {hash_ngram(ngram) % 20 for ngram in generate_character_ngrams(words[first], 2, 4)}
            assert index - len(tokenizer) - 50 in made
            assert end == first + 1
    assert tokenizer.map_ids_to_words("") == ([], [])


def test_without_ngrams_ids_are_of_the_known_words_alone() -> None:
    tokenizer = build_word_tokenizer(["the", "lamp"], model_max_length=2)
    assert tokenizer.map_ids_to_words("The big lamp the") == ([(0, 3), (8, 12)], [(0, 1), (1, 2)])


PIECES = [
    *["don't", "U.S.", "can't", "...", "--", "http://a.b/c?d", "www.x", "Mr.", "3.5", "o'clock", ":-)", "İ", "e\u0301"],
    *[
        "<br />",
        "<BR />",
        "<br>",
        "<br/>",
        "<br",
        "/>",
        '\\"',
        "\\n",
        "\\",
        "covid-19",
        "film.The",
        "gonna",
        "'s",
        "\u0301",
    ],
    *[" ", "  ", "\t", "\n", "\x0b", "\x1c", "\x1f", "\x85", "\xa0", "\u180e", "\u2007", "\u2028", "\u200b", "\u3000"],
]


@pytest.mark.parametrize("pre_tokenizer", ["whitespace", "english"])
@pytest.mark.parametrize("lower_case", [True, False])
def test_texts_are_cut_piece_by_piece_as_they_are_as_a_whole(pre_tokenizer: PreTokenizerName, lower_case: bool) -> None:
    options = {"lower_case": lower_case, "pre_tokenizer": pre_tokenizer}
    hashed = build_word_tokenizer(
        ["mr.", "3.5"] if lower_case else ["Mr.", "3.5"], **options, ngram_buckets=99, ngram_order=2
    )
    generator = random.Random(0)
    texts = ["".join(generator.choices(PIECES, k=generator.randint(0, 9))) for _ in range(2000)]
    texts.append("3.5 film 3.5")
    cuts = hashed._get_kept_cuts()
    assert cuts._pieces._cuts_pieces
    for text in texts + texts[:50]:
        assert cuts.cut(text) == pre_tokenize(hashed._tokenizer, text), text
    for limit in (None, 1):
        rows, cut_off = hashed.encode_to_arrays(texts, limit)
        expected = hashed(
            texts,
            truncation=limit is not None,
            max_length=limit,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )  # offsets come from the backend
        assert [row.tolist() for row in rows] == expected["input_ids"]
        assert cut_off == expected["num_truncated_tokens"]
    assert any(cut_off)


def test_what_is_kept_has_a_bound_and_other_backends_cut_whole_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.models.ops_ngrams.MOST_KEPT", 3)
    options = {"ngram_buckets": 99, "ngram_order": 2, "char_ngrams": (2, 3)}
    texts = ["a b c d e f", "f e d c b a", "a a a", "g h a b"]
    kept, plain = build_word_tokenizer(["a", "b"], **options), build_word_tokenizer(["a", "b"], **options)
    for text in texts * 2:
        assert kept(text)["input_ids"] == plain(text, return_offsets_mapping=True)["input_ids"]
    cuts = kept._kept_cuts
    assert cuts is not None
    assert max(map(len, (cuts._pieces._value_of_piece, cuts.ngrams._of_ngrams, cuts.ngrams._of_words))) <= 3
    assert deepcopy(kept)._kept_cuts is None

    other = build_word_tokenizer(["a", "b"], **options)
    other._tokenizer.pre_tokenizer = pre_tokenizers.Split("x", "removed")
    assert other._get_kept_cuts().cut("a bxc d") == ["a b", "c d"]
    assert build_word_tokenizer(["a"]).encode_to_arrays(["a b a", ""])[0][0].tolist() == [1, 1]
