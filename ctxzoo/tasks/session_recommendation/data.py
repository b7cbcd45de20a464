"""Sessions for Lightning: from a dataset, a file of events or the generated sample to batches of whole sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import Rows
from ctxzoo.data.named_sequences import MAX_LENGTH, NamedSequencesDataModule, SequenceSplits
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.session_recommendation.reader import read_sessions
from ctxzoo.tasks.session_recommendation.sample import ITEMS

# Name to what `read_sessions` reads; those of HCRNN's authors are split as theirs are, where all of it is there.
SESSION_DATASETS = {
    "citeulike": "ctxzoo-data/citeulike_hcrnn",
    "movielens_1m": "ctxzoo-data/movielens_1m_hcrnn",
    "lastfm": "ctxzoo-data/lastfm_hcrnn",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}

Session = npt.NDArray[np.int64]  # (T,) items from 1, in order


class SessionBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch, see `SessionDataModule`."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions

    def __len__(self) -> int:
        return len(self.sessions)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return (n,) the number of items to predict in each session, for bucketing."""
        return np.array([len(session) - 1 for session in self.sessions])

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        rows: Rows = np.asarray(numbers, np.int64)
        return {**session_inputs([self.sessions[row] for row in rows]), "row": torch.from_numpy(rows)}


def session_inputs(sessions: Sequence[Session]) -> dict[str, torch.Tensor]:
    """Return a batch of model inputs with what is to be predicted: each item of a session from those before it.

    Args:
        sessions: B of them, two items or more each.

    Returns:
        `input_ids` (B, T), all items of a session but its last, 0 at padding; `attention_mask` (B, T), 1 at items;
        `labels` (B, T), all items but the first, -100 at padding. All int64; T is one less than the longest session.
    """
    shape = (len(sessions), max(map(len, sessions)) - 1)
    ids, labels = torch.zeros(shape, dtype=torch.int64), torch.full(shape, IGNORED)
    for row, session in enumerate(sessions):
        items = torch.from_numpy(session)
        ids[row, : len(items) - 1], labels[row, : len(items) - 1] = items[:-1], items[1:]
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


class SessionDataModule(NamedSequencesDataModule[Session]):
    """Sessions in bucketed batches, as in the data of HCRNN's authors; see `NamedSequencesDataModule`.

    A batch is a dict of what `session_inputs` gives and `row` (B,) int64, rows of `sequences(split)`.

    Args:
        dataset: "sample" for generated sessions, or what `read_sessions` reads: Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        user_column, item_column, time_column: of a file of events, see `EventColumns`.
        max_length: items that a prediction sees at most.
        item_names: the items, in the order of their ids; default: those of the training split, sorted by name.
        batch_size, eval_batch_size: sessions in a batch.
        seed: of the order of batches.
        num_workers: processes that build batches; 0 builds them in the training process.
        divide: Whether training rows alone are divided, see `CheckedDataModule`.

    Raises:
        ValueError: max_length below 1.
    """

    one, several, things = "session", "sessions", "items"
    read_columns = (ITEMS,)

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        user_column: str = "user",
        item_column: str = "item",
        time_column: str = "time",
        max_length: int = MAX_LENGTH,
        item_names: Sequence[str] | None = None,
        batch_size: int = 16,
        eval_batch_size: int = 16,
        seed: int = 0,
        num_workers: int = 0,
        divide: bool = True,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            EventColumns(user_column, item_column, time_column),
            max_length=max_length,
            names=item_names,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
        )

    def model_sizes(self) -> dict[str, int | list[str]]:
        """The fields of a model's config that follow from the data: the items, their names, and how many are read."""
        return {"num_items": len(self.names), "item_names": self.names, "max_history": self.max_length}

    def read(self) -> SequenceSplits:
        return read_sessions(self.dataset, self.data_dir, self.columns)

    def piece(self, ids: Session, *further: npt.NDArray[np.float64]) -> Session:
        return ids

    def batches_of(self, pieces: list[Session]) -> SessionBatches:
        return SessionBatches(pieces)
