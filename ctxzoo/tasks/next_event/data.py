"""Histories for Lightning: from a dataset, a file of events or the generated sample to batches of whole histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import Rows, TextFormatError
from ctxzoo.models.ops_losses import IGNORED
from ctxzoo.tasks.next_event.reader import HistorySplits, read_histories
from ctxzoo.tasks.next_event.sample import EVENTS, TIMES

HISTORY_DATASETS = {
    "badges": "ctxzoo-data/stackoverflow_badges",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}
MAX_LENGTH = 100


@dataclass(frozen=True)
class History:
    """The known events of a history, or of a piece of one.

    Attributes:
        events: (T,) int64 from 1, in order.
        times: (T,) float64, which do not fall.
    """

    events: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.events)


class HistoryBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch, see `HistoryDataModule`."""

    def __init__(self, histories: Sequence[History]) -> None:
        self.histories = histories

    def __len__(self) -> int:
        return len(self.histories)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return (n,) the number of events of each history, for bucketing."""
        return np.array([len(history) for history in self.histories])

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        rows: Rows = np.asarray(numbers, np.int64)
        return {**history_inputs([self.histories[row] for row in rows]), "row": torch.from_numpy(rows)}


def history_inputs(histories: Sequence[History]) -> dict[str, torch.Tensor]:
    """Return a batch of model inputs with labels.

    Args:
        histories: B of them.

    Returns:
        `input_ids` (B, T) int64, 0 at padding; `timestamps` (B, T) float64; `attention_mask` (B, T), 1 at events;
        `labels` (B, T), the events themselves, of which a model predicts each from those before it, -100 at padding.
    """
    shape = (len(histories), max(map(len, histories)))
    ids, times = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.float64)
    for row, history in enumerate(histories):
        ids[row, : len(history)] = torch.from_numpy(history.events)
        times[row, : len(history)] = torch.from_numpy(history.times)
    return {
        "input_ids": ids,
        "timestamps": times,
        "attention_mask": (ids > 0).long(),
        "labels": ids.masked_fill(ids == 0, IGNORED),
    }


def median_gap(histories: Sequence[History]) -> float:
    """Return the median gap between the events of a history; where it is 0, that of gaps above 0; 1 without any.

    0, as of people who do several things in one second, is no unit of time.
    """
    gaps = np.concatenate([np.diff(history.times) for history in histories])
    median = float(np.median(gaps)) if len(gaps) else 0.0
    above = gaps[gaps > 0]
    return median if median > 0 else float(np.median(above)) if len(above) else 1.0


class HistoryDataModule(BucketedDataModule):
    """Histories in bucketed batches: each event but the first is to be predicted from those before it and their times.

    The kinds of events are those of the training split, or those that are given. In the other splits events that are
    none of them are left out; `left_out` counts them. A history of more than `max_length` + 1 events is cut into
    pieces, each of which begins with the last event of the one before: so every event but the first is predicted once.
    Histories of one event predict nothing and are in no batch.

    The unit of time is the median gap of the training split, see `median_gap`, and is kept in the model's config.

    A batch is a dict of what `history_inputs` gives and `row` (B,) int64, rows of `histories(split)`.

    Args:
        dataset: "sample" for generated histories, or what `read_histories` reads: Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        user_column, item_column, time_column: of a file of events, see `EventColumns`.
        max_length: events that a prediction sees at most.
        event_names: the kinds of events, in the order of their ids; default: those of the training split, sorted.
        batch_size, eval_batch_size: histories in a batch.
        seed: of the order of batches.
        num_workers: processes that build batches; 0 builds them in the training process.

    Raises:
        ValueError: max_length below 1.
    """

    tokenizer = None  # events are no text

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        user_column: str = "user",
        item_column: str = "item",
        time_column: str = "time",
        max_length: int = MAX_LENGTH,
        event_names: Sequence[str] | None = None,
        batch_size: int = 32,
        eval_batch_size: int = 32,
        seed: int = 0,
        num_workers: int = 0,
    ) -> None:
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; expected 1 or more events that a prediction sees")
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
        )
        self.columns = EventColumns(user_column, item_column, time_column)
        self.max_length = max_length
        self.left_out: dict[str, int] = {}
        self.event_names: list[str] = [] if event_names is None else list(event_names)
        self._data: HistorySplits | None = None
        self._histories: dict[str, list[History]] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._histories)

    @property
    def fingerprint(self) -> str:
        """The content hashes of the splits, as text."""
        return ", ".join(f"{name} {value[:16]}" for name, value in sorted(self._loaded().fingerprint.items()))

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the training split: events, their names, and the clock."""
        histories = self.histories("train")
        unit = median_gap(histories)
        longest = max(float(history.times[-1] - history.times[0]) for history in histories)
        return {
            "vocab_size": len(self.event_names) + 1,
            "event_names": self.event_names,
            "time_unit": unit,
            "time_span": max(longest / unit, 1.0),
        }

    def histories(self, split: str) -> list[History]:
        """Return the histories of a split that have something to predict.

        Raises:
            ValueError: there is no such split.
        """
        if split not in self._histories:
            raise ValueError(f"dataset {self.dataset!r} gives no {split!r} rows; it gives {sorted(self._histories)}")
        return self._histories[split]

    def prepare_data(self) -> None:
        """Read and check the dataset, once on each machine."""
        self._loaded()

    def setup(self, stage: str | None = None) -> None:
        """Number the events, and cut the histories, on every process."""
        if self._histories:
            return
        splits = self._loaded().splits
        if not self.event_names:
            if "train" not in splits:
                raise TextFormatError(
                    f"dataset {self.dataset!r} has the splits {sorted(splits)}, none that says which events there are; "
                    "expected one named 'train', or give event_names"
                )
            self.event_names = sorted({event for events in splits["train"][EVENTS] for event in events})
        numbers = {name: number for number, name in enumerate(self.event_names, start=1)}
        for split, rows in splits.items():
            self.left_out[split] = 0
            self._histories[split] = []
            for names, times in zip(rows[EVENTS], rows[TIMES], strict=True):
                events, at = np.array([numbers.get(name, 0) for name in names]), np.array(times, np.float64)
                self.left_out[split] += int((events == 0).sum())
                self._histories[split] += self._pieces(events[events > 0], at[events > 0])

    def batches(self, split: str, *, training: bool) -> HistoryBatches:
        histories = self.histories(split)
        if not histories:
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: no history has two of the {len(self.event_names):,} known "
                "events, so that nothing is to predict"
            )
        return HistoryBatches(histories)

    def _pieces(self, events: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> list[History]:
        cuts = [slice(start, start + self.max_length + 1) for start in range(0, len(events) - 1, self.max_length)]
        return [History(events[cut], times[cut]) for cut in cuts]

    def _loaded(self) -> HistorySplits:
        if self._data is None:
            self._data = read_histories(self.dataset, self.data_dir, self.columns)
        return self._data
