from __future__ import annotations

import csv
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizer

from ctxzoo.data.formats import SPLITS
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.models.tokenization_word_char import build_word_char_tokenizer
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.known_words import TextVocabulary
from ctxzoo.tasks.text_classification.splitting import TextSplitting
from ctxzoo.word_vectors.start_vectors import StartVectors
from tests.support.tiny_bert import tiny_tokenizer
from tests.support.toy.configuration_toy import ToyConfig

pytestmark = pytest.mark.usefixtures("own_cache")


def ready(dataset: Any = "sample", **options: Any) -> TextClassificationDataModule:
    data = TextClassificationDataModule.from_options(str(dataset), **options)
    data.prepare_data()
    data.setup()
    return data


def write(folder, name: str = "train", texts: list[str] | None = None, labels: list[int] | None = None):
    """A file `<name>.csv`; by default 60 different texts of growing length, a third of them with the label 1."""
    if texts is None:
        texts = [" ".join([f"w{number}", *(["word"] * (number % 7))]) for number in range(60)]
    if labels is None:
        labels = [int(number % 3 == 0) for number in range(len(texts))]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return folder


def loaders(data: TextClassificationDataModule) -> dict[str, Any]:
    return {"train": data.train_dataloader(), "validation": data.val_dataloader(), "test": data.test_dataloader()}


def seen(loader: Any) -> list[int]:
    return [row for batch in loader for row in batch["row"].tolist()]


def test_own_splits_are_read_as_they_are():
    data = ready()
    for name, loader in loaders(data).items():
        texts = data.texts(name)
        assert sorted(seen(loader)) == data.rows(name).tolist() == list(range(len(texts)))
        assert data.labels(name).tolist() == texts["label"][:]
    assert [len(data.rows(name)) for name in SPLITS] == [2000, 300, 300]
    assert (data.num_labels, data.label_names) == (2, ["negative", "positive"])


def test_a_missing_validation_split_is_held_out_of_train(tmp_path):
    write(tmp_path / "d")
    data = ready(write(tmp_path / "d", "test"), dev_share=0.2)
    train, validation = data.rows("train"), data.rows("validation")
    assert (len(train), len(validation), len(data.rows("test"))) == (48, 12, 60)
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(60))
    assert data.labels("validation").sum() == 4
    assert sorted(seen(data.val_dataloader())) == validation.tolist()
    assert data.texts("validation")["text"][:] == data.texts("train")["text"][:]


def test_validation_is_held_out_in_blocks_of_neighbours(tmp_path):
    data = ready(write(tmp_path / "d"), dev_share=0.2, dev_block=4)
    labels, held = data.labels("train"), data.rows("validation")
    assert sorted([*data.rows("train").tolist(), *held.tolist()]) == list(range(len(labels) + len(held)))
    every = np.array(data.texts("train")["label"][:])
    for label in set(every.tolist()):
        of_class = np.flatnonzero(every == label)
        places = np.flatnonzero(np.isin(of_class, held))
        assert len(places) >= 4
        assert (np.diff(places) != 1).sum() < len(places) / 4  # runs of four or so in the order of the class


@pytest.mark.parametrize("folds", [None, 3])
def test_nothing_is_held_out_with_a_share_of_0(tmp_path, folds):
    write(tmp_path / "d")
    data = ready(write(tmp_path / "d", "test"), folds=folds, dev_share=0.0)
    held = ready(tmp_path / "d", folds=folds, dev_share=0.2)
    assert set(data.splits) == {"train", "test"}
    assert data.rows("test").tolist() == held.rows("test").tolist()
    assert data.rows("train").tolist() == sorted([*held.rows("train").tolist(), *held.rows("validation").tolist()])
    assert data.val_dataloader() == []
    with pytest.raises(ValueError, match="no 'validation' rows"):
        data.rows("validation")


def test_a_missing_test_split_is_an_error_where_it_is_asked_for(tmp_path):
    data = ready(write(tmp_path / "d"), divide=False)
    with pytest.raises(ValueError, match=r"gives no 'test' rows; it gives \['train', 'validation'\]"):
        data.rows("test")


def test_folds_join_all_splits_and_divide_them():
    parts = [ready(folds=5, fold=fold) for fold in range(5)]
    joined = parts[0].texts("train")["text"][:]
    own = ready()
    assert joined == [text for name in SPLITS for text in own.texts(name)["text"]]
    assert sorted(row for data in parts for row in data.rows("test").tolist()) == list(range(2600))
    for data in parts:
        found = {name: seen(loader) for name, loader in loaders(data).items()}
        assert sorted(row for rows in found.values() for row in rows) == list(range(2600))
        texts = {name: {joined[row] for row in data.rows(name).tolist()} for name in SPLITS}
        assert texts["train"].isdisjoint(texts["validation"] | texts["test"])
        assert texts["validation"].isdisjoint(texts["test"])
        assert [len(data.rows(name)) for name in SPLITS] == [1872, 208, 520]
        for name in SPLITS:
            assert abs(data.labels(name).mean() - 0.5) < 0.01
            assert sorted(found[name]) == data.rows(name).tolist()


def test_folds_follow_fold_seed_alone():
    def rows(**options: Any) -> list[list[int]]:
        data = ready(folds=5, **options)
        return [data.rows(name).tolist() for name in SPLITS]

    assert rows(seed=1) == rows(seed=2, batch_size=7)
    assert rows(fold_seed=1) != rows(fold_seed=2)


def test_the_vocabulary_is_that_of_the_training_rows(tmp_path):
    # Every text has a word of its own, three times.
    texts = [f"own{number} own{number} own{number} shared A a" for number in range(60)]
    data = ready(write(tmp_path / "d", texts=texts), folds=3, dev_share=0.25)
    words = data.tokenizer.convert_ids_to_tokens(range(1, len(data.tokenizer)))
    own = sorted(f"own{row}" for row in data.rows("train").tolist())
    assert len(own) == 30
    # The most frequent first, ties in alphabetical order.
    assert words == ["a", "shared", *own]


def test_words_need_so_many_occurrences_in_the_training_rows(tmp_path):
    texts = ["one two two Two [PAD] [PAD] [PAD] three three", "x one y three", "x x", "y y"]
    write(tmp_path / "d", texts=texts, labels=[0, 1, 0, 1])
    write(tmp_path / "d", "validation", texts=["one one one", "x"], labels=[0, 1])
    write(tmp_path / "d", "test", texts=["one one one", "x"], labels=[0, 1])

    def words(**options: Any) -> list[str]:
        tokenizer = ready(tmp_path / "d", **options).tokenizer
        return tokenizer.convert_ids_to_tokens(range(1, len(tokenizer)))

    assert words() == ["[pad]", "three", "two", "x", "y"]
    assert words(lower_case=False) == ["three", "x", "y"]  # "[PAD]" as written is the name of padding
    assert words(min_word_count=2)[-1] == "one"
    with pytest.raises(ValueError, match="no word occurs 9 times in the 4 training texts"):
        words(min_word_count=9)


@pytest.mark.parametrize("options", [{}, {"ngram_order": 2, "char_ngrams": (3, 4), "ngram_buckets": 50}])
def test_a_batch_is_what_the_tokenizer_gives(options):
    data = ready(max_length=6, eval_batch_size=64, **options)
    texts = data.texts("test")
    for batch in data.test_dataloader():
        rows = batch["row"].tolist()
        expected = data.tokenizer(
            [texts[row]["text"] for row in rows], truncation=True, max_length=6, padding=True, return_tensors="pt"
        )
        assert set(batch) == {"input_ids", "attention_mask", "labels", "row"}
        for name in expected:
            assert torch.equal(batch[name], expected[name])
        assert batch["labels"].tolist() == [texts[row]["label"] for row in rows]
        assert {value.dtype for value in batch.values()} == {torch.int64}
        assert batch["input_ids"].max() < data.model_sizes()["vocab_size"] == data.tokenizer.num_ids


def test_texts_without_known_words_still_make_a_batch(tmp_path):
    write(tmp_path / "d", texts=["a a a", "b b b", "c", "d"], labels=[0, 1, 0, 1])
    write(tmp_path / "d", "validation", texts=["a", "z"], labels=[0, 1])
    data = ready(write(tmp_path / "d", "test", texts=["x", "y z"], labels=[0, 1]))
    batch = next(iter(data.test_dataloader()))
    assert batch["input_ids"].tolist() == batch["attention_mask"].tolist() == [[0], [0]]
    mixed = next(iter(data.val_dataloader()))
    assert mixed["attention_mask"].sum(dim=1).tolist() == [1, 0]


def test_texts_are_encoded_once(monkeypatch):
    encoded = []
    encode = WordTokenizer.encode_to_arrays
    monkeypatch.setattr(
        WordTokenizer,
        "encode_to_arrays",
        lambda self, texts, *limit: encoded.append(len(texts)) or encode(self, texts, *limit),
    )
    data = ready(folds=5)
    for _ in range(2):
        for loader in loaders(data).values():
            seen(loader)
    assert encoded == [2600]


def test_a_pass_that_is_resumed_gives_the_rest_of_the_uninterrupted_one():
    def loader() -> Any:
        made = ready(folds=5, batch_size=32, seed=4).train_dataloader()
        made.sampler.set_epoch(3)
        return made

    whole = list(loader())
    first = loader()
    batches = iter(first)
    for _ in range(7):
        next(batches)
    resumed = loader()
    resumed.load_state_dict(first.state_dict())
    rest = list(resumed)
    assert len(rest) == len(whole) - 7
    for found, expected in zip(rest, whole[7:], strict=True):
        assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_order_follows_seed_and_epoch_and_batches_are_of_one_length():
    def order(epoch: int, **options: Any) -> list[list[int]]:
        loader = ready(**options).train_dataloader()
        loader.sampler.set_epoch(epoch)
        return [batch["row"].tolist() for batch in loader]

    assert order(1, seed=1) == order(1, seed=1)
    assert len({str(order(epoch, seed=seed)) for epoch in (0, 1) for seed in (0, 1)}) == 4
    padded = total = 0
    for batch in ready().train_dataloader():
        padded += int((batch["attention_mask"] == 0).sum())
        total += batch["attention_mask"].numel()
    assert padded / total < 0.05


def test_two_processes_share_the_rows(monkeypatch):
    def shares(split: str) -> list[list[list[int]]]:
        found = []
        for rank in range(2):
            monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
            monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
            monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
            data = ready(folds=5, batch_size=100, eval_batch_size=100)
            found.append([batch["row"].tolist() for batch in loaders(data)[split]])
        return found

    evaluated = [row for share in shares("test") for batch in share for row in batch]
    assert sorted(evaluated) == ready(folds=5).rows("test").tolist()
    train = shares("train")
    assert [len(share) for share in train] == [9, 9]  # of 19 batches, the same number on both
    rows = [row for share in train for batch in share for row in batch]
    assert len(set(rows)) == len(rows) >= 1872 - 100


def test_any_split_can_be_read_in_evaluation_order():
    data = ready()
    lengths = [int(batch["attention_mask"].sum(1).max()) for batch in data.split_dataloader("train")]
    assert lengths == sorted(lengths, reverse=True)
    assert len(seen(data.split_dataloader("train"))) == 2000
    with pytest.raises(ValueError, match=r"'sample' gives no 'dev' rows; it gives \['test', 'train', 'validation'\]"):
        data.split_dataloader("dev")


def test_names_sizes_and_fingerprint():
    data = ready()
    assert data.model_sizes() == {"vocab_size": len(data.tokenizer), "num_labels": 2}
    assert (data.build_vector_table(), data.get_vectors_name()) == (None, "learned")
    expected = [f"{name} {dataset_fingerprint(data.texts(name))[:16]}" for name in sorted(SPLITS)]
    assert data.fingerprint == ready(folds=5).fingerprint == ", ".join(expected)


def test_pretrained_vectors_stand_at_their_words_rows(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("screen 1 2 3\nnowhere 9 9 9\nIts -1 0 0.5\n", encoding="utf-8")
    options: dict[str, Any] = {"word_vectors": str(file), "ngram_order": 2, "ngram_buckets": 5}
    data = ready(**options)
    sizes = data.model_sizes()
    assert (sizes["word_dim"], data.get_vectors_name()) == (3, "v")
    table = data.build_vector_table()
    assert table.shape == (sizes["vocab_size"], 3)
    assert table[data.tokenizer.convert_tokens_to_ids("screen")].tolist() == [1, 2, 3]
    assert table[data.tokenizer.convert_tokens_to_ids("its")].tolist() == [-1, 0, 0.5]
    assert not table[0].any()
    drawn = torch.cat([table[1:3], table[-5:]])
    assert len({tuple(row.tolist()) for row in drawn}) == 7
    spread = torch.tensor([1, 2, 3, -1, 0, 0.5]).std()
    assert 0.7 < float(table.std() / spread) < 1.3
    assert torch.equal(table, ready(**options).build_vector_table())


def test_scaled_vectors_keep_their_directions_and_so_do_those_that_are_drawn(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("screen 1 2 3\nnowhere 900 900 900\nIts -1 0 0.5\n", encoding="utf-8")
    plain, scaled = (ready(word_vectors=str(file), vectors_std=std).build_vector_table() for std in (0, 0.05))
    # Of the words of the text alone.
    factor = 0.05 / torch.tensor([1, 2, 3, -1, 0, 0.5]).std()
    torch.testing.assert_close(scaled, plain * factor)
    with pytest.raises(ValueError, match=r"vectors_std=0\.05 scales word vectors, and none are given"):
        ready(vectors_std=0.05)
    with pytest.raises(ValueError, match="the standard deviation of word vectors is -1; expected 0"):
        ready(word_vectors=str(file), vectors_std=-1).build_vector_table()


def test_words_without_a_vector_are_counted_and_vectors_of_none_refused(tmp_path):
    (tmp_path / "some.txt").write_text("screen 1 2 3\nnowhere 900 900 900\nIts -1 0 0.5\n", encoding="utf-8")
    with collect_reading_notes() as notes:
        ready(word_vectors=str(tmp_path / "some.txt")).build_vector_table()
    assert notes.counts() == {"words of the model without a vector, whose rows are drawn": 57}
    file = tmp_path / "v.txt"
    file.write_text("mot 1 2 3\nautre 4 5 6\n", encoding="utf-8")
    data = ready(word_vectors=str(file))
    with pytest.raises(ValueError, match="v has a vector for none of the 59 words"):
        data.build_vector_table()


def test_a_given_tokenizer_is_used(tmp_path):
    tokenizer = build_word_tokenizer(["screen", "not"])
    data = ready(tokenizer=tokenizer)
    assert data.tokenizer is tokenizer
    assert max(int(batch["input_ids"].max()) for batch in data.test_dataloader()) == 2
    with pytest.raises(ValueError, match="both a tokenizer and init_from='x'"):
        TextClassificationDataModule.from_options("sample", tokenizer=tokenizer, init_from="x")


@pytest.fixture
def pieces(tmp_path):
    """A dataset of three texts, of which one has no known piece."""
    for split in SPLITS:
        write(tmp_path / "d", split, ["the screen is not good", "screens", "seat"], [0, 1, 0])
    return tmp_path / "d"


def test_another_tokenizer_keeps_its_special_tokens_and_pads_with_its_own_id(pieces):
    tokenizer = tiny_tokenizer()
    tokenizer.pad_token = "good"  # a piece that texts hold too
    data = ready(pieces, tokenizer=tokenizer)
    batch = next(iter(data.test_dataloader()))
    order = batch["row"].argsort()
    assert batch["input_ids"][order].tolist() == [[2, 5, 6, 8, 7, 9, 3], [2, 6, 10, 3, 9, 9, 9], [2, 1, 3, 9, 9, 9, 9]]
    assert batch["attention_mask"][order].sum(dim=1).tolist() == [7, 4, 3]
    assert batch["attention_mask"][order][0].all()
    assert data.tokenizer is tokenizer


def test_another_tokenizer_s_texts_are_cut_and_counted(pieces, caplog):
    data = ready(pieces, tokenizer=tiny_tokenizer(), max_length=4)
    with caplog.at_level("INFO", logger="ctxzoo.tasks.text_classification.data"):
        batch = next(iter(data.test_dataloader()))
    order = batch["row"].argsort()
    assert batch["input_ids"][order].tolist() == [[2, 5, 6, 3], [2, 6, 10, 3], [2, 1, 3, 0]]
    assert data.count_truncated("test") == 1
    assert caplog.messages == ["1 'test' texts cut to max_length=4 tokens"]


def test_words_are_counted_by_the_pre_tokenizer_and_not_by_another_tokenizer(pieces):
    data = ready(pieces, tokenizer=tiny_tokenizer(), min_words=2)
    assert data.texts("train")["text"][:] == ["the screen is not good"]  # "screens" is one word of two pieces


def test_what_needs_words_is_refused_with_another_tokenizer(pieces):
    data = ready(pieces, tokenizer=tiny_tokenizer())
    for name in ("model_sizes", "build_vector_table", "fit_naive_bayes"):
        with pytest.raises(ValueError, match=f"{name}: a BertTokenizer has no vocabulary of words; give a Word"):
            getattr(data, name)()
    for options in ({"word2vec_dim": 3}, {"word_vectors": "v.txt"}):
        with pytest.raises(ValueError, match=r"word2vec_dim=\d: a BertTokenizer has no vocabulary of words"):
            ready(pieces, tokenizer=tiny_tokenizer(), **options)


def test_tokenizers_that_make_no_batches_are_refused():
    without_padding, short = tiny_tokenizer(), tiny_tokenizer()
    without_padding.pad_token = None
    short.model_max_length = 64
    for tokenizer, max_length, message in (
        (without_padding, None, "the BertTokenizer has no pad token"),
        (object.__new__(PreTrainedTokenizer), None, "expected a fast tokenizer"),
        (short, 65, "max_length is 65; the BertTokenizer adds 2 special tokens, and its model reads up to 64"),
        (short, 2, "max_length is 2; the BertTokenizer adds 2"),
    ):
        with pytest.raises(ValueError, match=message):
            TextClassificationDataModule.from_options("sample", tokenizer=tokenizer, max_length=max_length)


def test_the_tokenizer_keeps_the_limit_of_the_training(tmp_path):
    AutoTokenizer.register(ToyConfig, fast_tokenizer_class=WordTokenizer, exist_ok=True)
    data = ready(max_length=3)
    assert data.tokenizer.word_limit == 3
    data.tokenizer.save_pretrained(tmp_path / "three")
    (tmp_path / "three" / "config.json").write_text('{"model_type": "ctxzoo_toy"}')
    assert ready().tokenizer.word_limit is None

    # The same texts are read with the checkpoint's tokenizer, whoever gives it.
    loaded = AutoTokenizer.from_pretrained(tmp_path / "three")
    for again in (ready(init_from=str(tmp_path / "three")), ready(tokenizer=loaded)):
        assert (again.max_length, again.tokenizer.word_limit) == (3, 3)
        assert again.count_truncated("test") == data.count_truncated("test") > 0
    longer = ready(init_from=str(tmp_path / "three"), max_length=5)
    assert (longer.max_length, longer.tokenizer.word_limit) == (5, 5)
    assert ready(tokenizer=loaded, max_length=4).max_length == 4
    assert loaded.word_limit == 3  # a caller's stays as it is


def test_the_tokenizer_of_a_checkpoint_is_used(tmp_path):
    AutoTokenizer.register(ToyConfig, fast_tokenizer_class=WordTokenizer, exist_ok=True)
    build_word_tokenizer(["screen", "not"], ngram_order=2, ngram_buckets=4).save_pretrained(tmp_path / "word")
    data = ready(init_from=str(tmp_path / "word"))
    assert (data.tokenizer.num_ids, data.tokenizer("not screen").input_ids[:2]) == (7, [2, 1])
    build_word_char_tokenizer(["screen"], characters=None).save_pretrained(tmp_path / "char")
    with pytest.raises(ValueError, match="char' holds a WordCharTokenizer; expected the WordTokenizer"):
        ready(init_from=str(tmp_path / "char"))


def test_a_dataset_without_a_train_split_needs_a_tokenizer(tmp_path):
    folder = write(tmp_path / "d", "test")
    with pytest.raises(ValueError, match="no train split to build a vocabulary from; add one"):
        ready(folder)
    data = ready(folder, tokenizer=build_word_tokenizer(["word"]))
    assert sorted(seen(data.test_dataloader())) == list(range(60))
    with pytest.raises(ValueError, match=r"gives no 'train' rows; it gives \['test'\]"):
        data.train_dataloader()


def test_columns_can_be_named(tmp_path):
    file = tmp_path / "reviews.csv"
    file.write_text("body,stars\n" + "".join(f"a a {n},{n % 2}\n" for n in range(40)), encoding="utf-8")
    data = ready(file, folds=2, text_column="body", label_column="stars")
    assert Counter(data.labels("test").tolist()) == {0: 10, 1: 10}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fold": 1}, "fold=1 without folds"),
        ({"dev_share": -0.1}, "dev_share is -0.1"),
        ({"dev_share": 1.0}, "dev_share is 1.0"),
        ({"dev_block": 0}, "dev_block is 0"),
        ({"dev_block": 2, "folds": 3}, "dev_block is 2, folds 3"),
        ({"min_word_count": 0}, "min_word_count is 0"),
        ({"min_words": -1}, "min_words is -1"),
        ({"pre_tokenizer": "french"}, "pre_tokenizer is 'french'; expected one of whitespace, english"),
        ({"max_length": 0}, "max_length is 0"),
        ({"folds": 5, "fold": 5}, r"fold is 5; expected 0\.\.4"),
        ({"folds": 1}, "folds is 1"),
        ({"ngram_order": 2}, "ngram_order=2.*need ngram_buckets"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        ready(**options)


def test_the_pre_tokenizer_counts_and_cuts(tmp_path):
    texts = ["It's good.<br />Isn't it?", "is it good"] * 2
    for split in SPLITS:
        write(tmp_path / "d", split, texts, [0, 1, 0, 1])
    data = ready(tmp_path / "d", min_word_count=1, pre_tokenizer="english")
    words = data.tokenizer.convert_ids_to_tokens(range(1, len(data.tokenizer)))
    assert words == ["it", "good", "is", "'s", ".", "?", "n't"]
    batch = next(iter(data.test_dataloader()))
    assert batch["attention_mask"].sum(dim=1).tolist() == [8, 8, 3, 3]


def test_texts_with_fewer_words_are_left_out_of_every_split(tmp_path):
    texts = ["a a a", "a a", "rare film [PAD]", "a", "a<br />film.", "a a a a"]
    for split in SPLITS:
        write(tmp_path / "d", split, texts, [0, 1, 1, 0, 0, 1])
    kept = ["a a a", "rare film [PAD]", "a a a a"]
    for options in ({}, {"tokenizer": build_word_tokenizer(["a"])}):
        data = ready(tmp_path / "d", min_words=3, **options)
        for split in SPLITS:
            assert data.texts(split)["text"][:] == kept
            assert data.labels(split).tolist() == [0, 1, 1]
            assert sorted(seen(data.split_dataloader(split))) == data.rows(split).tolist() == [0, 1, 2]
    english = ready(tmp_path / "d", min_words=3, pre_tokenizer="english", folds=2, dev_share=0.0)
    assert english.texts("test")["text"][:] == [*kept[:2], "a<br />film.", kept[2]] * 3
    assert english.fingerprint == data.fingerprint
    with pytest.raises(ValueError, match="min_words=5 leaves none of the 6 'train' texts"):
        ready(tmp_path / "d", min_words=5)


@pytest.mark.parametrize("folds", [None, 3])
def test_truncated_texts_are_counted_and_told_once(folds, caplog):
    data = ready(max_length=8, folds=folds)
    whole = ready(folds=folds)
    with caplog.at_level("INFO", logger="ctxzoo.tasks.text_classification.data"):
        for _ in range(2):
            loaders(data)
    for split in SPLITS:
        lengths = whole._encode_texts(split).lengths()[whole.rows(split)]
        assert data.count_truncated(split) == (lengths > 8).sum() > 0
        assert f"{data.count_truncated(split)} '{split}' texts cut to max_length=8 known words" in caplog.messages
    assert len(caplog.messages) == 3
    assert whole.count_truncated("train") == 0


def test_a_class_without_training_rows_gives_a_warning(tmp_path):
    write(tmp_path / "d", "train", ["a a a"] * 4, [0, 1, 0, 1])
    write(tmp_path / "d", "validation", ["a"] * 2, [0, 1])
    write(tmp_path / "d", "test", ["a"] * 2, [0, 2])
    with pytest.warns(UserWarning, match="no training row has the class '2', which 'test' has") as told:
        data = ready(tmp_path / "d")
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.setup("test")
        ready()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "words", "rows", "unread"),
    [
        # Published: 5,674 / 1,763 / 6,277 / 1,555. The order of rows decides which of them make the fold.
        ("cornell-movie-review-data/rotten_tomatoes", 5705, [7676, 853, 2133], 0.0),
        ("SetFit/CR", 1763, [2714, 302, 755], 0.0),
        ("SetFit/subj", 6277, [7200, 800, 2000], 0.0),
        ("ctxzoo-data/mpqa", 1555, [7634, 848, 2121], 1 / 7),
    ],
)
def test_vocabularies_of_the_usual_benchmarks(name, words, rows, unread):
    data = ready(name, folds=5)
    assert len(data.tokenizer) - 1 == words
    assert [len(data.rows(split)) for split in SPLITS] == rows
    majority = np.bincount(data.texts("train")["label"]).max() / len(data.texts("train"))
    for split in SPLITS:
        assert abs(np.bincount(data.labels(split)).max() / len(data.labels(split)) - majority) < 0.002
    known = torch.cat([batch["attention_mask"].any(dim=1) for batch in data.test_dataloader()])
    assert 1 - known.double().mean().item() == pytest.approx(unread, abs=0.02)


def test_naive_bayes_counts_the_training_rows_alone(tmp_path):
    """Presence of words and of the buckets of n-grams; two classes give the ratio of the second."""
    texts, labels = ["good film", "good good end", "bad film", "bad end"], [1, 1, 0, 0]
    write(tmp_path / "d", "train", texts, labels)
    write(tmp_path / "d", "validation", ["good bad"], [0])
    write(tmp_path / "d", "test", ["bad bad"], [1])
    data = ready(tmp_path / "d", min_word_count=1, ngram_order=2, ngram_buckets=50)
    ratios, weights = data.fit_naive_bayes()
    assert ratios.shape == (data.tokenizer.num_ids, 1)
    assert ratios[0] == 0
    counts = np.ones((2, data.tokenizer.num_ids))
    for text, label in zip(texts, labels, strict=True):
        for index in set(data.tokenizer(text)["input_ids"]):
            counts[label, index] += 1
    shares = counts[:, 1:] / counts[:, 1:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ratios[1:, 0], np.log(shares[1] / shares[0]), rtol=1e-5, atol=1e-6)
    good, bad = data.tokenizer.convert_tokens_to_ids(["good", "bad"])
    assert ratios[good, 0] > 0.5
    assert ratios[bad, 0] < -0.5
    means = np.array([ratios[data.tokenizer(text)["input_ids"]].mean() for text in texts])  # every occurrence counts
    np.testing.assert_allclose(weights[:, 0], np.array([-0.5, 0.5]) / np.abs(means).mean(), rtol=1e-5)


def test_naive_bayes_of_words_and_of_characters_are_two(tmp_path):
    for split in SPLITS:
        write(tmp_path / "d", split, ["good film", "bad film"] * 3, [1, 0] * 3)
    options: dict[str, Any] = {"min_word_count": 1, "ngram_order": 2, "ngram_buckets": 60, "char_ngrams": (3, 4)}
    data = ready(tmp_path / "d", char_ngram_buckets=80, **options)
    words = ready(tmp_path / "d", min_word_count=1, ngram_order=2, ngram_buckets=60)
    characters = 1 + 3 + 60  # the first id of a character n-gram
    ratios, weights = data.fit_naive_bayes()
    assert data.tokenizer.num_ids == characters + 80 == len(ratios)
    assert ratios.shape == (len(ratios), 2)
    assert weights.shape == (2, 2)
    np.testing.assert_allclose(ratios[:characters, 0], words.fit_naive_bayes()[0][:, 0], rtol=1e-6)
    assert not ratios[characters:, 0].any()
    assert not ratios[:characters, 1].any()
    assert ratios[characters:, 1].any()


def test_more_than_two_classes_have_a_ratio_each(tmp_path):
    words = ["one", "two", "three"]
    for split in SPLITS:
        write(tmp_path / "d", split, [f"{word} film" for word in words] * 3, [0, 1, 2] * 3)
    data = ready(tmp_path / "d")
    ratios, weights = data.fit_naive_bayes()
    assert ratios.shape == (data.tokenizer.num_ids, 3)
    ids = data.tokenizer.convert_tokens_to_ids(words)
    assert ratios[ids].argmax(dim=1).tolist() == [0, 1, 2]
    assert (ratios[ids] @ weights.T).argmax(dim=1).tolist() == [0, 1, 2]


def test_options_side_by_side_are_those_of_the_objects() -> None:
    splitting = TextSplitting(folds=3, fold=2, fold_seed=1, min_words=4)
    vocabulary = TextVocabulary(min_word_count=2, ngram_order=2, ngram_buckets=8)
    of_objects = TextClassificationDataModule(
        "sample", splitting=splitting, vocabulary=vocabulary, start_vectors=StartVectors(word2vec_dim=4), batch_size=5
    )
    of_options = TextClassificationDataModule.from_options(
        "sample", **vars(splitting), **vars(vocabulary), batch_size=5
    )
    assert (of_options.splitting, of_options.vocabulary) == (splitting, vocabulary)
    assert of_options.start_vectors == StartVectors()
    for data in (of_objects, of_options):
        data.setup()
    assert of_objects.model_sizes() == {**of_options.model_sizes(), "word_dim": 4}
    for split in ("train", "validation", "test"):
        assert of_objects.rows(split).tolist() == of_options.rows(split).tolist()
    with pytest.raises(TypeError, match="'min_word'"):
        TextClassificationDataModule.from_options("sample", min_word=3)
