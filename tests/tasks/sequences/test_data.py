"""Sequences in batches: names, cuts, the clock, and the real sets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.sequences.data import (
    HISTORY_DATASETS,
    SESSION_DATASETS,
    History,
    HistoryDataModule,
    SessionDataModule,
    collate_histories,
    collate_sessions,
    compute_median_gap,
)
from ctxzoo.tasks.sequences.sample import sample_histories

each_module = pytest.mark.parametrize("module_class", [SessionDataModule, HistoryDataModule])


def module(module_class: Any, tmp_path: Path, train: list[list[str]], test: Any = None, **options: int) -> Any:
    """Return a DataModule of sequences with these names; times are ten apart."""
    for split, rows in (("train", train), ("test", test)):
        if rows is not None:
            times = [[10.0 * place for place in range(len(row))] for row in rows]
            pa.parquet.write_table(pa.table({"items": rows, "timestamps": times}), tmp_path / f"{split}.parquet")
    data = module_class(str(tmp_path), **options)
    data.setup()
    return data


def history(events: list[int], times: list[float]) -> History:
    return History(np.array(events), np.array(times))


def test_each_item_but_the_first_is_predicted() -> None:
    batch = collate_sessions([np.array([5, 2, 9]), np.array([4, 4])])
    assert batch["input_ids"].tolist() == [[5, 2], [4, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert batch["labels"].tolist() == [[2, 9], [4, -100]]


def test_a_batch_holds_events_times_and_themselves_as_labels() -> None:
    batch = collate_histories([history([5, 2, 9], [1.0, 2.0, 2.0]), history([4], [1.33e9 + 0.25])])
    assert batch["input_ids"].tolist() == [[5, 2, 9], [4, 0, 0]]
    assert batch["labels"].tolist() == [[5, 2, 9], [4, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["timestamps"].dtype == torch.float64
    assert batch["timestamps"][1, 0].item() == 1.33e9 + 0.25


@each_module
def test_names_are_those_of_training_and_others_are_left_out(module_class: Any, tmp_path: Path) -> None:
    data = module(module_class, tmp_path, [["b", "a", "b"], ["c"]], [["a", "z", "b"], ["z", "c"]])
    assert data.names == ["a", "b", "c"]
    assert [ids.tolist() for ids in data.get_ids("train")] == [[2, 1, 2]]
    assert [ids.tolist() for ids in data.get_ids("test")] == [[1, 2]]
    assert data.left_out == {"train": 0, "test": 2}
    assert data.targets == {"train": 2, "test": 3}
    assert data.unknown_targets == {"train": 0, "test": 2}  # z, and c, before which nothing is known


def test_names_and_clock_go_into_the_config(tmp_path: Path) -> None:
    rows = [["b", "a", "b"], ["c", "c"]]
    names: dict[str, Any] = {"item_names": ["a", "b", "c"], "max_history": 100, "item_counts": [1, 2, 2]}
    assert module(SessionDataModule, tmp_path, rows).model_sizes() == {"num_items": 3, **names}
    assert module(HistoryDataModule, tmp_path, rows).model_sizes() == {
        "vocab_size": 4,
        "event_names": ["a", "b", "c"],
        "max_history": 100,
        "time_unit": 10.0,
        "time_span": 2.0,
    }


def test_given_items_keep_their_numbers(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"items": [["a", "b", "c"]]}), tmp_path / "test.parquet")
    data = SessionDataModule(str(tmp_path), item_names=["c", "x", "a"])
    data.setup()
    assert [session.tolist() for session in data.sequences("test")] == [[3, 1]]
    nameless = SessionDataModule(str(tmp_path))
    with pytest.raises(TextFormatError, match="none that says which items there are"):
        nameless.setup()


@pytest.mark.parametrize(("max_length", "expected"), [(4, [5, 5, 3]), (5, [6, 6]), (10, [11]), (3, [4, 4, 4, 2])])
@each_module
def test_long_ones_are_cut_so_that_everything_but_the_first_is_predicted_once(
    module_class: Any, tmp_path: Path, max_length: int, expected: list[int]
) -> None:
    data = module(module_class, tmp_path, [[f"{number:02}" for number in range(11)]], max_length=max_length)
    pieces = [ids.tolist() for ids in data.get_ids("train")]
    assert [len(piece) for piece in pieces] == expected
    assert [name for piece in pieces for name in piece[1:]] == list(range(2, 12))
    assert all(after[0] == before[-1] for before, after in pairwise(pieces))
    if module_class is HistoryDataModule:
        assert [one.times.tolist() for one in data.sequences("train")] == [
            [10.0 * (event - 1) for event in piece] for piece in pieces
        ]


def test_unknown_events_are_left_out_with_their_times() -> None:
    data = HistoryDataModule("sample", event_names=["water", "prune"])
    data.setup()
    assert data.left_out["test"] > 0
    rows = sample_histories()["test"]
    kept = [time for event, time in zip(rows["events"][0], rows["timestamps"][0], strict=True) if event in data.names]
    assert data.sequences("test")[0].times.tolist() == kept


@each_module
def test_batches_tell_rows_and_cover_each_sequence_once(module_class: Any) -> None:
    data = module_class("sample", batch_size=7, eval_batch_size=9)
    data.setup()
    for loader, split in ((data.train_dataloader(), "train"), (data.split_dataloader("test"), "test")):
        rows = []
        for batch in loader:
            for row, ids in zip(batch["row"].tolist(), batch["input_ids"], strict=True):
                whole = torch.from_numpy(data.get_ids(split)[row])
                assert torch.equal(ids[ids > 0], whole[:-1] if module_class is SessionDataModule else whole)
                rows.append(row)
        assert sorted(rows) == list(range(len(data.sequences(split))))


def test_the_unit_of_time_is_the_median_gap_of_the_training_split() -> None:
    assert compute_median_gap([history([1, 2, 3], [0.0, 1.0, 5.0]), history([1, 2], [10.0, 12.0])]) == 2.0
    assert compute_median_gap([history([1, 2, 3, 4], [0.0, 0.0, 0.0, 7.0])]) == 7.0  # most gaps are 0
    assert compute_median_gap([history([1, 2], [3.0, 3.0])]) == 1.0


@pytest.mark.parametrize(
    ("module_class", "one", "things"),
    [(SessionDataModule, "session", "items"), (HistoryDataModule, "history", "events")],
)
def test_data_that_cannot_be(module_class: Any, one: str, things: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"max_length is 0; expected 1 or more {things} that a prediction sees"):
        module_class("sample", max_length=0)
    data = module(module_class, tmp_path, [["a"], ["b"]])
    with pytest.raises(TextFormatError, match=f"split 'train': no {one} has two of the 2 known {things}"):
        data.train_dataloader()
    with pytest.raises(ValueError, match=r"gives no 'test' rows; it gives \['train'\] \(or set `split`\)"):
        data.sequences("test")


@pytest.mark.data
@pytest.mark.parametrize(
    ("module_class", "dataset", "names", "predictions", "left_out"),
    [
        # names, predictions of train, validation and test, things of validation and test that are left out
        (SessionDataModule, SESSION_DATASETS["citeulike"], 1980, (34810, 3914, 9140), (0, 0)),
        (SessionDataModule, SESSION_DATASETS["movielens_1m"], 930, (38466, 4816, 5072), (0, 0)),
        (SessionDataModule, SESSION_DATASETS["lastfm"], 4825, (20165, 2297, 2330), (287, 190)),
        (SessionDataModule, SESSION_DATASETS["movielens_100k"], 1661, (81418, 7329, 10285), (6, 18)),
        (HistoryDataModule, HISTORY_DATASETS["badges"], 22, (257019, 33778, 32222), (0, 0)),
        (HistoryDataModule, HISTORY_DATASETS["movielens_100k"], 1661, (81418, 7329, 10285), (6, 18)),
    ],
)
def test_the_real_sets(
    module_class: Any, dataset: str, names: int, predictions: tuple[int, ...], left_out: tuple[int, int]
) -> None:
    data = module_class(dataset)
    data.setup()
    sizes = data.model_sizes()
    assert len(data.names) == names == sizes.get("num_items", sizes.get("vocab_size", 0) - 1)
    assert (
        tuple(sum(len(one) - 1 for one in data.get_ids(split)) for split in ("train", "validation", "test"))
        == predictions
    )
    assert (data.left_out["validation"], data.left_out["test"]) == left_out
    assert max(len(ids) for ids in data.get_ids("train")) <= 101
    assert ("Toy Story (1995)" in data.names) is ("movielens" in dataset)
