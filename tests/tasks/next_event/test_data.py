"""Histories in batches, the clock, and the generated sample."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.next_event.data import HISTORY_DATASETS, History, HistoryDataModule, history_inputs, median_gap
from ctxzoo.tasks.next_event.sample import CARE, sample_histories


def history(events: list[int], times: list[float]) -> History:
    return History(np.array(events), np.array(times))


def module(tmp_path: Path, events: list[list[str]], **options: int) -> HistoryDataModule:
    times = [[10.0 * place for place in range(len(row))] for row in events]
    pa.parquet.write_table(pa.table({"events": events, "timestamps": times}), tmp_path / "train.parquet")
    data = HistoryDataModule(str(tmp_path), **options)
    data.setup()
    return data


def test_a_batch_holds_events_times_and_themselves_as_labels() -> None:
    batch = history_inputs([history([5, 2, 9], [1.0, 2.0, 2.0]), history([4], [1.33e9 + 0.25])])
    assert batch["input_ids"].tolist() == [[5, 2, 9], [4, 0, 0]]
    assert batch["labels"].tolist() == [[5, 2, 9], [4, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["timestamps"].dtype == torch.float64
    assert batch["timestamps"][1, 0].item() == 1.33e9 + 0.25


def test_the_unit_of_time_is_the_median_gap_of_the_training_split() -> None:
    assert median_gap([history([1, 2, 3], [0.0, 1.0, 5.0]), history([1, 2], [10.0, 12.0])]) == 2.0
    assert median_gap([history([1, 2, 3, 4], [0.0, 0.0, 0.0, 7.0])]) == 7.0  # most gaps are 0
    assert median_gap([history([1, 2], [3.0, 3.0])]) == 1.0


def test_the_clock_and_the_names_go_into_the_config(tmp_path: Path) -> None:
    data = module(tmp_path, [["b", "a", "b"], ["c", "c"]])
    assert data.model_sizes() == {
        "vocab_size": 4,
        "event_names": ["a", "b", "c"],
        "max_history": 100,
        "time_unit": 10.0,
        "time_span": 2.0,
    }


def test_long_histories_are_cut_so_that_every_event_but_the_first_is_predicted_once(tmp_path: Path) -> None:
    names = [f"{number:02}" for number in range(11)]
    data = module(tmp_path, [names], max_length=4)
    pieces = data.sequences("train")
    assert [event for piece in pieces for event in piece.events[1:].tolist()] == list(range(2, 12))
    assert [time for piece in pieces for time in piece.times[1:].tolist()] == [10.0 * place for place in range(1, 11)]
    assert all(after.times[0] == before.times[-1] for before, after in pairwise(pieces))


def test_unknown_events_are_left_out_with_their_times(tmp_path: Path) -> None:
    data = HistoryDataModule("sample", event_names=["water", "prune"])
    data.setup()
    assert data.left_out["test"] > 0
    rows = sample_histories()["test"]
    kept = [time for event, time in zip(rows["events"][0], rows["timestamps"][0], strict=True) if event in data.names]
    assert data.sequences("test")[0].times.tolist() == kept


def test_data_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_length is 0"):
        HistoryDataModule("sample", max_length=0)
    data = module(tmp_path, [["a"], ["b"]])
    with pytest.raises(TextFormatError, match="split 'train': no history has two of the 2 known events"):
        data.train_dataloader()
    with pytest.raises(ValueError, match="gives no 'test' rows"):
        data.sequences("test")


def test_the_sample_is_the_same_everywhere_and_follows_its_pauses() -> None:
    small, large = sample_histories(train=5), sample_histories(train=60)
    assert small["train"][:] == large["train"][:5]
    assert large["train"]["events"][0][:4] == ["feed", "prune", "water", "feed"]
    followed = counted = 0
    for events, times in zip(large["train"]["events"], large["train"]["timestamps"], strict=True):
        for place in range(2, len(events)):
            short = times[place - 1] - times[place - 2] < 86_400
            expected = CARE[(CARE.index(events[place - 1]) + 1) % len(CARE)] if short else "water"
            followed += events[place] == expected
            counted += 1
    assert 0.83 < followed / counted < 0.95
    with pytest.raises(ValueError, match="test=0"):
        sample_histories(test=0)


@pytest.mark.data
def test_the_real_sets() -> None:
    expected = {
        "badges": (23, (257019, 33778, 32222), (0, 0)),
        "movielens_100k": (1662, (81418, 7329, 10285), (6, 18)),
    }
    for name, (size, predictions, left_out) in expected.items():
        data = HistoryDataModule(HISTORY_DATASETS[name])
        data.setup()
        assert data.model_sizes()["vocab_size"] == size
        splits = ("train", "validation", "test")
        assert tuple(sum(len(one) - 1 for one in data.sequences(split)) for split in splits) == predictions
        assert (data.left_out["validation"], data.left_out["test"]) == left_out
