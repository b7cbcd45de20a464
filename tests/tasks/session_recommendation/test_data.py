from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.session_recommendation.data import SESSION_DATASETS, SessionDataModule, session_inputs


def module(
    tmp_path: Path, train: list[list[str]], test: list[list[str]] | None = None, **options: int
) -> SessionDataModule:
    for split, sessions in (("train", train), ("test", test)):
        if sessions is not None:
            pa.parquet.write_table(pa.table({"items": sessions}), tmp_path / f"{split}.parquet")
    data = SessionDataModule(str(tmp_path), **options)
    data.setup()
    return data


def test_each_item_but_the_first_is_predicted() -> None:
    batch = session_inputs([np.array([5, 2, 9]), np.array([4, 4])])
    assert batch["input_ids"].tolist() == [[5, 2], [4, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert batch["labels"].tolist() == [[2, 9], [4, -100]]


def test_items_are_those_of_training_and_others_are_left_out(tmp_path: Path) -> None:
    data = module(tmp_path, [["b", "a", "b"], ["c"]], [["a", "z", "b"], ["z", "c"]])
    assert data.names == ["a", "b", "c"]
    assert data.model_sizes() == {"num_items": 3, "item_names": ["a", "b", "c"], "max_history": 100}
    assert [session.tolist() for session in data.sequences("train")] == [[2, 1, 2]]
    assert [session.tolist() for session in data.sequences("test")] == [[1, 2]]
    assert data.left_out == {"train": 0, "test": 2}
    assert data.targets == {"train": 2, "test": 3}
    assert data.unknown_targets == {"train": 0, "test": 2}  # z, and c, before which nothing is known


def test_given_items_keep_their_numbers(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"items": [["a", "b", "c"]]}), tmp_path / "test.parquet")
    data = SessionDataModule(str(tmp_path), item_names=["c", "x", "a"])
    data.setup()
    assert [session.tolist() for session in data.sequences("test")] == [[3, 1]]
    nameless = SessionDataModule(str(tmp_path))
    with pytest.raises(TextFormatError, match="none that says which items there are"):
        nameless.setup()


def test_long_sessions_are_cut_so_that_every_item_but_the_first_is_predicted_once(tmp_path: Path) -> None:
    items = [f"{number:02}" for number in range(11)]
    for max_length, expected in ((4, [5, 5, 3]), (5, [6, 6]), (10, [11]), (3, [4, 4, 4, 2])):
        data = module(tmp_path, [items], max_length=max_length)
        pieces = [piece.tolist() for piece in data.sequences("train")]
        assert [len(piece) for piece in pieces] == expected
        assert [item for piece in pieces for item in piece[1:]] == list(range(2, 12))
        assert all(after[0] == before[-1] for before, after in pairwise(pieces))


def test_batches_tell_rows_and_cover_each_session_once() -> None:
    data = SessionDataModule("sample", batch_size=7, eval_batch_size=9)
    data.setup()
    for loader, split in ((data.train_dataloader(), "train"), (data.split_dataloader("test"), "test")):
        rows = []
        for batch in loader:
            for row, ids in zip(batch["row"].tolist(), batch["input_ids"], strict=True):
                session = torch.from_numpy(data.sequences(split)[row])
                assert torch.equal(ids[ids > 0], session[:-1])
                rows.append(row)
        assert sorted(rows) == list(range(len(data.sequences(split))))


def test_data_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_length is 0"):
        SessionDataModule("sample", max_length=0)
    data = module(tmp_path, [["a"], ["b"]])
    with pytest.raises(TextFormatError, match="split 'train': no session has two of the 2 known items"):
        data.train_dataloader()
    with pytest.raises(ValueError, match=r"gives no 'test' rows; it gives \['train'\] \(or set `split`\)"):
        data.sequences("test")


@pytest.mark.data
def test_the_authors_sets() -> None:
    expected = {
        # items, predictions of train, validation and test, items of validation and test that are left out
        "citeulike": (1980, (34810, 3914, 9140), (0, 0)),
        "movielens_1m": (930, (38466, 4816, 5072), (0, 0)),
        "lastfm": (4825, (20165, 2297, 2330), (287, 190)),
        "movielens_100k": (1661, (81418, 7329, 10285), (6, 18)),
    }
    for name, (items, predictions, left_out) in expected.items():
        data = SessionDataModule(SESSION_DATASETS[name])
        data.setup()
        splits = ("train", "validation", "test")
        assert len(data.names) == items
        assert tuple(int(data.batches(split, training=False).lengths().sum()) for split in splits) == predictions
        assert (data.left_out["validation"], data.left_out["test"]) == left_out
        assert max(len(session) for session in data.sequences("train")) <= 101
    assert "Toy Story (1995)" in data.names
