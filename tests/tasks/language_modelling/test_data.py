from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pytest
import torch

from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule, LineVocabulary
from ctxzoo.tasks.language_modelling.experiments import TEXT_DATASETS
from ctxzoo.tasks.language_modelling.reader import END_MARK

LINES = ["the cat sat", "the dog", "a cat ran off ."]


def made(dataset: str = "sample", **options) -> LanguageModellingDataModule:
    data = LanguageModellingDataModule(dataset, **options)
    data.setup()
    return data


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for split, lines in {"train": LINES, "test": ["the bird sat", "a dog"]}.items():
        datasets.Dataset.from_dict({"text": lines}).to_parquet(tmp_path / f"{split}.parquet")
    return str(tmp_path)


def words_of(data: LanguageModellingDataModule, ids: torch.Tensor) -> list[str]:
    return data.tokenizer.convert_ids_to_tokens(ids.reshape(-1).tolist())


def test_streams_are_contiguous_parts_of_the_text_in_its_order(folder: str) -> None:
    data = made(folder, batch_size=2, bptt=4)
    text = [*" ␤ ".join(LINES).split(), END_MARK]
    assert len(text) == 13
    batches = list(data.train_dataloader())
    assert [tuple(batch["targets"].shape) for batch in batches] == [(2, 4), (2, 2)]
    streams = [torch.cat([batch[name] for batch in batches], dim=1) for name in ("input_ids", "targets")]
    for stream, begin in zip((0, 1), (0, 6), strict=True):  # of 13 words two streams of 6
        assert words_of(data, streams[1][stream]) == text[begin : begin + 6]
        assert words_of(data, streams[0][stream]) == [END_MARK, *text][begin : begin + 6]
    assert [batch["begins"].tolist() for batch in batches] == [[True, True], [False, False]]
    assert [batch["row"].tolist() for batch in batches] == [[0, 1], [1, 2]]
    assert torch.cat([batch["lines"] for batch in batches], dim=1).tolist() == [[0, 0, 0, 0, 1, 1], [1, 2, 2, 2, 2, 2]]
    assert not any(batch["unknown"].any() for batch in batches)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_split_is_scored_as_one_stream_whatever_the_size(folder: str, size: int) -> None:
    data = made(folder, eval_batch_size=size)
    batches = list(data.split_dataloader("test"))
    joined = {name: torch.cat([batch[name] for batch in batches], dim=1) for name in ("targets", "unknown", "lines")}
    unknown = data.tokenizer.unk_token
    assert words_of(data, joined["targets"]) == ["the", unknown, "sat", END_MARK, "a", "dog", END_MARK]
    assert joined["unknown"].tolist() == [[False, True, False, False, False, False, False]]
    assert joined["lines"].tolist() == [[0, 0, 0, 0, 1, 1, 1]]


def test_an_epoch_goes_on_where_it_stopped() -> None:
    whole = [batch["input_ids"].tolist() for batch in made(batch_size=8, bptt=20).train_dataloader()]
    first = made(batch_size=8, bptt=20).train_dataloader()
    seen = iter(first)
    begun = [next(seen)["input_ids"].tolist() for _ in range(3)]
    second = made(batch_size=8, bptt=20).train_dataloader()
    second.load_state_dict(first.state_dict())
    rest = list(second)
    assert not rest[0]["begins"].any()
    assert begun + [batch["input_ids"].tolist() for batch in rest] == whole


def test_the_vocabulary_is_that_of_the_training_lines(folder: str) -> None:
    data = made(folder, min_word_count=2)
    assert sorted(data.tokenizer.get_vocab(), key=data.tokenizer.get_vocab().get) == [
        "[PAD]",
        "[UNK]",
        END_MARK,
        "cat",
        "the",
    ]
    assert data.model_sizes() == {"vocab_size": 5, "eos_token_id": 2}


def test_text_whose_rare_words_are_marked_has_no_other_unknown_word(tmp_path: Path) -> None:
    tokenizer = LineVocabulary().build_tokenizer(["the <unk> sat", "a <unk>"])
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, WordTokenizer.from_pretrained(tmp_path)):
        assert one.unk_token == "<unk>"
        assert "[UNK]" not in one.get_vocab()
        assert one("the bird <unk> sat")["input_ids"] == [
            one.get_vocab()[word] for word in ("the", "<unk>", "<unk>", "sat")
        ]


def test_english_cutting_leaves_the_end_mark_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It's late.\nDon't wait!\n")
    data = made(str(tmp_path / "a.txt"), pre_tokenizer="english")
    assert words_of(data, torch.from_numpy(data.stream("train").tokens)) == [
        *("it", "'s", "late", ".", END_MARK),
        *("do", "n't", "wait", "!", END_MARK),
    ]


def test_what_is_refused(folder: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="split 'train': 13 words make no 20 streams; set batch_size to 13 or less"):
        made(folder).train_dataloader()
    with pytest.raises(ValueError, match=r"gives no 'validation' rows; it gives \['test', 'train'\]"):
        made(folder).split_dataloader("validation")
    with pytest.raises(ValueError, match="bptt is 0; expected 1 or more"):
        made(folder, bptt=0)
    with pytest.raises(ValueError, match="min_word_count is 0"):
        made(folder, min_word_count=0)
    with pytest.raises(ValueError, match="no word occurs 9 times in the 3 training lines"):
        made(folder, min_word_count=9)
    with pytest.raises(ValueError, match="a WordTokenizer with the end mark None and the unknown word None"):
        made(folder, tokenizer=build_word_tokenizer(["the"]))
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "test.txt").write_text("x\n")
    with pytest.raises(ValueError, match="no train split to build a vocabulary from"):
        made(str(tmp_path / "only"))


@pytest.mark.data
def test_the_penn_treebank_has_the_known_sizes() -> None:
    data = made(dataset=TEXT_DATASETS["ptb"])
    splits = ("train", "validation", "test")
    assert [len(data.lines(split)) for split in splits] == [42_068, 3_370, 3_761]
    assert [len(data.stream(split)) for split in splits] == [929_589, 73_760, 82_430]
    assert data.model_sizes()["vocab_size"] == 10_001  # 10,000 with the end mark, and padding
    assert [int((data.stream(split).tokens == data.tokenizer.eos_token_id).sum()) for split in splits] == [
        len(data.lines(split)) for split in splits
    ]
    assert data.tokenizer.unk_token == "<unk>"
    assert {split: bool(np.isin(data.tokenizer.pad_token_id, data.stream(split).tokens)) for split in splits} == (
        dict.fromkeys(splits, False)
    )
