from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.experiments import (
    TOKEN_DATASETS,
    build_paper_experiment,
    get_tag_dataset,
    set_corpus,
)
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION

TRAIN = [["The", "Cat", "sat", "."], ["the", "cat", "saw", "1995", "dogs", "."], ["Rare", "."]]
TAGS = [["DT", "NN", "VB", "."], ["DT", "NN", "VB", "CD", "NN", "."], ["JJ", "."]]


pytestmark = pytest.mark.usefixtures("own_cache")


def ready(dataset: Any = "sample", **options: Any) -> TokenClassificationDataModule:
    data = TokenClassificationDataModule(str(dataset), **options)
    data.prepare_data()
    data.setup()
    return data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    test = datasets.Dataset.from_dict({"tokens": [["a", "Dog", "sat"]], "pos_tags": [["DT", "NN", "VB"]]})
    for name, part in {
        "train": datasets.Dataset.from_dict({"tokens": TRAIN, "pos_tags": TAGS}),
        "validation": test,
        "test": test,
    }.items():
        part.to_parquet(tmp_path / "tags" / f"{name}.parquet")
    return tmp_path / "tags"


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    """Of "dog", "rare", two words that no folded, lower-cased text gives, and one that has to be written otherwise."""
    (tmp_path / "v.txt").write_text("dog 1 2 3\nCat 4 5 6\nrare 7 8 9\n17 1 1 1\nnew 2 2 2\n00 3 3 3\n")
    return str(tmp_path / "v.txt")


def words(data: TokenClassificationDataModule) -> list[str]:
    return data.tokenizer.convert_ids_to_tokens(range(len(data.tokenizer)))


def test_words_of_train_are_the_vocabulary(folder):
    assert words(ready(folder)) == ["[PAD]", "[UNK]", ".", "cat", "the"]
    every = ready(folder, min_word_count=1)
    assert words(every)[2:5] == [".", "cat", "the"]
    assert set(words(every)[5:]) == {"0000", "dogs", "rare", "sat", "saw"}
    as_written = ready(folder, min_word_count=1, lower_case=False, fold_digits=False)
    assert {"The", "the", "Cat", "cat", "1995"} <= set(words(as_written))
    with pytest.raises(ValueError, match="no word occurs 9 times in the 3 training sentences"):
        ready(folder, min_word_count=9)


def test_words_of_the_vectors_follow_in_their_order(folder, vectors):
    data = ready(folder, word_vectors=vectors)
    assert words(data) == ["[PAD]", "[UNK]", ".", "cat", "the", "rare", "dog", "new", "00"]
    assert data.model_sizes() == {"vocab_size": 9, "num_labels": 6, "word_dim": 3}
    table = data.build_vector_table()
    assert table[3].tolist() == [4, 5, 6]  # of "Cat"
    assert table[5:].tolist() == [[7, 8, 9], [1, 2, 3], [2, 2, 2], [3, 3, 3]]
    assert not table[0].any()
    assert table[1].any()
    assert "word vectors " in data.fingerprint
    assert ready(folder).build_vector_table() is None
    assert ready(folder).model_sizes() == {"vocab_size": 5, "num_labels": 6}


def test_given_vectors_are_kept_as_int8_and_words_have_features(folder, tmp_path):
    (tmp_path / "v.txt").write_text("dog 1 2 3\nCat 4 5 6\nrare 7 8 9\nsat 1 1 1\nsaw 2 2 2\nnew 3 3 3\n")
    data = ready(folder, word_vectors=str(tmp_path / "v.txt"), vector_words=1, features=True)
    assert words(data) == ["[PAD]", "[UNK]", ".", "cat", "the", "rare", "sat", "saw", "dog"]
    number = data.tokenizer.num_feature_ids
    assert data.model_sizes() == {
        **{"vocab_size": 9, "num_labels": 6, "word_dim": 3, "num_features": number, "trained_words": 5}
    }
    fixed = data.build_fixed_vectors()
    assert fixed.vectors.dtype == torch.int8
    torch.testing.assert_close(fixed.vectors[8] * fixed.scales, torch.tensor([1.0, 2.0, 3.0]), rtol=0, atol=0.05)
    (batch,) = data.train_dataloader()
    sentences = [TRAIN[row] for row in batch["row"]]
    known = data.tokenizer(sentences, is_split_into_words=True, padding=True, return_tensors="pt")
    assert torch.equal(batch["feature_ids"], known["feature_ids"])
    assert batch["feature_ids"].max() == number - 1
    assert "feature_ids" not in next(iter(ready(folder).train_dataloader()))


def test_vectors_of_another_language_are_left_out(folder, caplog, tmp_path):
    (tmp_path / "other.txt").write_text("hund 1 2\nkatze 2 1\n")
    data = ready(folder, word_vectors=str(tmp_path / "other.txt"), vector_words=5)
    assert "know 0 of 6 words, too few to help; training starts without them" in caplog.text
    assert data.model_sizes() == {"vocab_size": 5, "num_labels": 6}
    assert not data.has_fixed_vectors


def test_a_rare_word_of_train_is_known_by_another_spelling_of_the_vectors(folder, vectors):
    data = ready(folder, word_vectors=vectors, lower_case=False)
    assert "Rare" in words(data)
    assert data.build_vector_table()[words(data).index("Rare")].tolist() == [7, 8, 9]


def test_a_batch_holds_words_and_tags_of_its_rows(folder):
    data = ready(folder, batch_size=3, eval_batch_size=3)
    (batch,) = data.split_dataloader("train")
    assert batch["row"].tolist() == [1, 0, 2]  # the longest first
    assert data.label_names == [".", "CD", "DT", "JJ", "NN", "VB"]
    assert batch["input_ids"].tolist() == [[4, 3, 1, 1, 1, 2], [4, 3, 1, 2, 0, 0], [1, 2, 0, 0, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1] * 6, [1] * 4 + [0] * 2, [1] * 2 + [0] * 4]
    assert batch["labels"].tolist() == [
        [2, 4, 5, 1, 4, 0], [2, 4, 5, 0, -100, -100], [3, 0, -100, -100, -100, -100]
    ]  # fmt: skip
    assert {value.dtype for value in batch.values()} == {torch.int64}


def test_every_sentence_is_in_one_batch_and_gets_its_own_tags():
    data = ready()
    for split in data.splits:
        texts, seen = data.texts(split), []
        for batch in data.split_dataloader(split):
            for row, ids, labels in zip(batch["row"].tolist(), batch["input_ids"], batch["labels"], strict=True):
                seen.append(row)
                expected = data.tokenizer(texts[row]["tokens"], is_split_into_words=True)["input_ids"]
                assert ids[: len(expected)].tolist() == expected
                assert labels[: len(expected)].tolist() == texts[row]["labels"]
                assert (labels[len(expected) :] == -100).all()
        assert sorted(seen) == data.rows(split).tolist()
    assert data.splits == ("train", "validation", "test")
    with pytest.raises(ValueError, match=r"'sample' gives no 'dev' rows; it gives \['test', 'train', 'validation'\]"):
        data.rows("dev")


def test_order_follows_seed_and_epoch():
    def order(seed: int, epoch: int) -> list[list[int]]:
        loader = ready(seed=seed).train_dataloader()
        loader.sampler.set_epoch(epoch)
        return [batch["row"].tolist() for batch in loader]

    assert order(1, 1) == order(1, 1)
    assert len({str(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4


def test_splits_that_are_missing_are_cut_out(tmp_path):
    rows = {
        "tokens": [[f"w{row}"] for row in range(20)],
        "upos": [["X"], ["Y"]] * 10,
        "file": [f"f{row}" for row in range(20)],
    }
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "one" / "train.parquet")
    data = ready(tmp_path / "one", min_word_count=1, divide=False)
    assert data.rows("validation").tolist() == [8, 18]
    assert data.rows("test").tolist() == [9, 19]
    assert not {"w8", "w9", "w18", "w19"} & set(words(data))  # the vocabulary is that of the rows of train
    (batch,) = data.test_dataloader()
    assert batch["row"].tolist() == [9, 19]
    datasets.Dataset.from_dict(rows).remove_columns("file").to_parquet(tmp_path / "two" / "train.parquet")
    assert ready(tmp_path / "two", min_word_count=1, divide=False).splits == ("train",)


def test_a_tokenizer_is_taken_over_if_it_gives_each_word_an_id(folder):
    own = build_word_tokenizer(["dog"], keep_unknown=True)
    data = ready(folder, tokenizer=own)
    assert data.tokenizer is own
    (batch,) = data.test_dataloader()
    assert batch["input_ids"].tolist() == [[1, 2, 1]]
    with pytest.raises(ValueError, match="a WordTokenizer, does not give each word one id"):
        ready(folder, tokenizer=build_word_tokenizer(["dog"]))
    with pytest.raises(ValueError, match="both a tokenizer and word_vectors='v'"):
        ready(folder, tokenizer=own, word_vectors="v")
    english = build_word_tokenizer(["dog"], keep_unknown=True, pre_tokenizer="english")
    sentence = datasets.Dataset.from_dict({"tokens": [["dog", "and/or"]], "upos": [["N", "C"]]})
    sentence.to_parquet(folder.parent / "cut" / "test.parquet")
    (batch,) = ready(folder.parent / "cut", tokenizer=english).test_dataloader()
    assert batch["input_ids"].tolist() == [[2, 1]]  # words of a list are whole, whatever the rule for running text
    with pytest.raises(ValueError, match="has no train split to build a vocabulary from; add one"):
        ready(folder.parent / "cut")


def test_min_word_count_out_of_range():
    with pytest.raises(ValueError, match="min_word_count is 0; expected 1 or more"):
        TokenClassificationDataModule("sample", min_word_count=0)


def test_names_of_corpora():
    assert get_tag_dataset("ptb_sample") == {"dataset": "ctxzoo-data/ptb_sample", "tag_column": "pos_tags"}
    assert get_tag_dataset("ud_english_ewt", "upos")["tag_column"] == "upos"
    assert get_tag_dataset("someone/tags", "ner_tags") == {"dataset": "someone/tags", "tag_column": "ner_tags"}
    with pytest.raises(ValueError, match=r"'someone/tags' is none of ptb_sample, .*; name its column of tags too"):
        get_tag_dataset("someone/tags")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sentences", "tags"),
    [
        ("ptb_sample", {"train": 3396, "validation": 273, "test": 245}, 45),
        ("ud_english_ewt", {"train": 12544, "validation": 2001, "test": 2077}, 49),
        ("brown_pos", {"train": 46175, "validation": 5523, "test": 5642}, 472),
        ("conll2000_pos", {"train": 8043, "validation": 893, "test": 2012}, 44),
    ],
)
def test_real_corpora(name, sentences, tags):
    data = TOKEN_CLASSIFICATION.build_data_module(set_corpus(build_paper_experiment(), name))
    data.setup()
    assert {split: len(data.rows(split)) for split in data.splits} == sentences
    assert len(data.label_names) == tags
    assert set(TOKEN_DATASETS) >= {name}
    batch = next(iter(data.test_dataloader()))
    assert ((batch["labels"] == -100) == (batch["attention_mask"] == 0)).all()
