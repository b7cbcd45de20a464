"""Histories for Lightning: from a dataset, a file of events or the generated sample to batches of whole histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import Rows
from ctxzoo.data.named_sequences import MAX_LENGTH, NamedSequencesDataModule, SequenceSplits
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.next_event.reader import read_histories
from ctxzoo.tasks.next_event.sample import EVENTS, TIMES

HISTORY_DATASETS = {
    "badges": "ctxzoo-data/stackoverflow_badges",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}


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


class HistoryDataModule(NamedSequencesDataModule[History]):
    """Histories in bucketed batches; see `NamedSequencesDataModule`.

    The unit of time is the median gap of the training split, see `median_gap`, and is kept in the model's config.

    A batch is a dict of what `history_inputs` gives and `row` (B,) int64, rows of `sequences(split)`.

    Args:
        dataset: "sample" for generated histories, or what `read_histories` reads: Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        user_column, item_column, time_column: of a file of events, see `EventColumns`.
        max_length: events that a prediction sees at most.
        event_names: the kinds of events, in the order of their ids; default: those of the training split, sorted.
        batch_size, eval_batch_size: histories in a batch.
        seed: of the order of batches.
        num_workers: processes that build batches; 0 builds them in the training process.
        divide: Whether training rows alone are divided, see `CheckedDataModule`.

    Raises:
        ValueError: max_length below 1.
    """

    one, several, things = "history", "histories", "events"
    read_columns = (EVENTS, TIMES)

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
        divide: bool = True,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            EventColumns(user_column, item_column, time_column),
            max_length=max_length,
            names=event_names,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
        )

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the training: events, how many are read, and the clock."""
        histories = self.sequences("train")
        unit = median_gap(histories)
        longest = max(float(history.times[-1] - history.times[0]) for history in histories)
        return {
            "vocab_size": len(self.names) + 1,
            "event_names": self.names,
            "max_history": self.max_length,
            "time_unit": unit,
            "time_span": max(longest / unit, 1.0),
        }

    def read(self) -> SequenceSplits:
        return read_histories(self.dataset, self.data_dir, self.columns)

    def piece(self, ids: npt.NDArray[np.int64], *further: npt.NDArray[np.float64]) -> History:
        return History(ids, *further)

    def batches_of(self, pieces: list[History]) -> HistoryBatches:
        return HistoryBatches(pieces)
