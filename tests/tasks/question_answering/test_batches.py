import numpy as np
import pytest
import torch

from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.models.ops_bidaf_words import compute_word_features
from ctxzoo.models.tokenization_word_char import build_word_char_tokenizer
from ctxzoo.tasks.question_answering.batches import (
    EVALUATION_LIMITS,
    LENGTH_MULTIPLE,
    TRAINING_LIMITS,
    LengthLimits,
    SquadBatches,
    TypeTables,
    build_type_tables,
    select_rows_within,
)
from ctxzoo.tasks.question_answering.preparation import prepare_squad
from tests.support.tiny_squad import question, rows
from tests.tasks.question_answering.test_preparation import AWKWARD

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
    assert (tables.extra_row, tables.padding_row) == (len(TYPES), len(TYPES) + 1)
    assert tables.word_ids[[tables.extra_row, tables.padding_row]].tolist() == [1, 0]
    assert tables.char_ids[tables.extra_row].tolist() == [1] * 5
    assert tables.char_ids[tables.padding_row].tolist() == [0] * 5


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
    array = np.full((len(texts), 1 + max(map(len, texts))), tables.padding_row, np.int32)
    array[:, 0] = tables.extra_row
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
    features = tables.compute_word_features(padded(tables, texts), lengths, padded(tables, others))
    assert features.dtype == np.float32
    for row, (text, other) in enumerate(zip(texts, others, strict=True)):
        assert not features[row, 0].any()
        assert not features[row, 1 + len(text) :].any()
        expected = np.array(compute_word_features(text, other), np.float32)
        np.testing.assert_array_equal(features[row, 1 : 1 + len(text)], expected)


NO_LIMITS = LengthLimits(context=10**6, question=10**6)


def words(count: int, prefix: str = "w") -> str:
    return " ".join(f"{prefix}{number}" for number in range(count))


def batches(folder, split, limits=NO_LIMITS, *, features: bool = True, characters: bool = True, chosen=None):
    """The dataset, and a tokenizer that knows some of its words."""
    prepared = prepare_squad({"train": split}, {"train": dataset_fingerprint(split)}, folder)
    tokenizer = build_word_char_tokenizer(
        sorted(prepared.words)[::2],
        characters=list("abcdeé'") if characters else None,
        max_word_length=6,
        word_features=features,
    )
    tables = build_type_tables(prepared.words, tokenizer)
    chosen = np.arange(len(split)) if chosen is None else np.asarray(chosen)
    return SquadBatches(prepared.splits["train"], tables, chosen, limits), tokenizer


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("characters", [False, True])
def test_a_prepared_batch_is_what_the_tokenizer_gives(tmp_path, features, characters):
    split = rows(
        *(question(name, text, f"Which {text[:9]}, the 1990s?") for name, text in AWKWARD.items()),
        question("repeats", "The cat the cats THE running runs ran run", "Which CAT runs?"),
    )
    data, tokenizer = batches(tmp_path, split, features=features, characters=characters)
    order = [8, 2, 0, 5, 7, 1, 3, 4, 6]
    batch = data[order]
    expected = tokenizer(
        [split[row]["question"] for row in order],
        [split[row]["context"] for row in order],
        padding=True,
        pad_to_multiple_of=LENGTH_MULTIPLE,
        return_tensors="pt",
    )
    assert set(batch) - {"start_positions", "end_positions", "row"} == set(expected)
    for name, value in expected.items():
        assert batch[name].shape == value.shape, name
        assert torch.equal(batch[name].to(value.dtype), value), name
    assert batch["row"].tolist() == order


def test_a_cut_context_is_what_the_tokenizer_cuts(tmp_path):
    split = rows(question("1", "The cat sat on the mat the cat left", "Which cat left?"))
    data, tokenizer = batches(tmp_path, split, LengthLimits(context=5, question=100))
    expected = tokenizer(
        split["question"][:], split["context"][:], truncation="only_second", max_length=6, return_tensors="pt"
    )
    batch = data[[0]]
    for name, value in expected.items():
        kept, padding = batch[name].to(value.dtype).tensor_split([value.size(1)], dim=1)
        assert torch.equal(kept, value), name
        assert not padding.any(), name


def test_labels_count_the_extra_token_and_no_answer_is_its_place(tmp_path):
    split = rows(
        question("1", "a b c d", answer="b c"), question("2", "a b c d"), question("3", "a b", answer="a", start=0)
    )
    batch = batches(tmp_path, split)[0][[0, 1, 2]]
    assert batch["start_positions"].tolist() == [2, 0, 1]
    assert batch["end_positions"].tolist() == [3, 0, 1]
    assert batch["start_positions"].dtype == torch.int64


@pytest.mark.parametrize(
    ("answer", "labels"), [("w9", (10, 10)), ("w8 w9", (9, 10)), ("w9 w10", (0, 0)), ("w10", (0, 0))]
)
def test_an_answer_beyond_the_cut_counts_as_none(tmp_path, answer, labels):
    split = rows(question("1", words(12), words(5, "q"), answer=answer))
    data, _ = batches(tmp_path, split, LengthLimits(context=10, question=3))
    batch = data[[0]]
    assert int(batch["question_attention_mask"].sum()) == 4
    assert (int(batch["start_positions"]), int(batch["end_positions"])) == labels
    assert int(batch["attention_mask"].sum()) == 11


def test_evaluation_reads_1000_words_of_a_context_and_100_of_a_question(tmp_path):
    split = rows(question("1", words(1001), words(101, "q")), question("2", words(1000), words(100, "q")))
    batch = batches(tmp_path, split, EVALUATION_LIMITS)[0][[0, 1]]
    assert batch["attention_mask"].sum(dim=1).tolist() == [1001, 1001]
    assert batch["question_attention_mask"].sum(dim=1).tolist() == [101, 101]


def test_training_leaves_out_what_is_longer_than_400_50_30_words(tmp_path):
    texts = {"context": words(400), "question": words(50, "q"), "answer": words(30)}
    longer = {"context": words(401), "question": words(51, "q"), "answer": words(31)}
    split = rows(
        question("fits", texts["context"], texts["question"], texts["answer"]),
        *(question(name, *{**texts, name: longer[name]}.values()) for name in texts),
        question("no answer", texts["context"], texts["question"]),
    )
    data, _ = batches(tmp_path, split)
    assert select_rows_within(data.split, TRAINING_LIMITS).tolist() == [0, 4]
    assert select_rows_within(data.split, LengthLimits(400, 50)).tolist() == [0, 3, 4]


def test_a_choice_of_rows_is_numbered_from_zero_and_reports_the_split_s_rows(tmp_path):
    split = rows(*(question(str(number), words(number + 1)) for number in range(6)))
    data, _ = batches(tmp_path, split, chosen=[5, 1, 3])
    assert len(data) == 3
    assert data.lengths().tolist() == [6, 2, 4]
    batch = data[[2, 0]]
    assert batch["row"].tolist() == [3, 5]
    assert batch["attention_mask"].sum(dim=1).tolist() == [5, 7]


def test_a_batch_of_one_and_tensors_of_their_own(tmp_path):
    data, _ = batches(tmp_path, rows(question("1", "a b")))
    first = data[[0]]
    first["input_ids"].zero_()
    assert data[[0]]["input_ids"].tolist() != first["input_ids"].tolist()


@pytest.mark.parametrize(("count", "length"), [(1, 8), (7, 8), (8, 16), (15, 16)])
def test_lengths_are_rounded_up(tmp_path, count, length):
    batch = batches(tmp_path, rows(question("1", words(count), words(count, "q"))))[0][[0]]
    for name in ("input_ids", "attention_mask", "question_input_ids", "question_attention_mask"):
        assert batch[name].shape == (1, length)
