"""Sessions for Lightning: from a dataset, a file of events or the generated sample to batches of whole sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import Rows, TextFormatError
from ctxzoo.models.ops_losses import IGNORED
from ctxzoo.tasks.session_recommendation.reader import SessionSplits, read_sessions
from ctxzoo.tasks.session_recommendation.sample import ITEMS

# Name to what `read_sessions` reads; those of HCRNN's authors are split as theirs are, where all of it is there.
SESSION_DATASETS = {
    "citeulike": "ctxzoo-data/citeulike_hcrnn",
    "movielens_1m": "ctxzoo-data/movielens_1m_hcrnn",
    "lastfm": "ctxzoo-data/lastfm_hcrnn",
    "movielens_100k": "ctxzoo-data/movielens_100k",
    "sample": "sample",
}
MAX_LENGTH = 100

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


class SessionDataModule(BucketedDataModule):
    """Sessions in bucketed batches: each item but the first is to be predicted from those before it.

    The items are those of the training split, or those that are given. In the other splits items that are none of
    them are left out, as in the data of HCRNN's authors; `left_out` counts them. A session of more than
    `max_length` + 1 items is cut into pieces, each of which begins with the last item of the one before: so every item
    but the first is predicted once. Sessions of one item predict nothing and are in no batch.

    A batch is a dict of what `session_inputs` gives and `row` (B,) int64, rows of `sessions(split)`.

    Args:
        dataset: "sample" for generated sessions, or what `read_sessions` reads: Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        user_column, item_column, time_column: of a file of events, see `EventColumns`.
        max_length: items that a prediction sees at most.
        item_names: the items, in the order of their ids; default: those of the training split, sorted by name.
        batch_size, eval_batch_size: sessions in a batch.
        seed: of the order of batches.
        num_workers: processes that build batches; 0 builds them in the training process.

    Raises:
        ValueError: max_length below 1.
    """

    tokenizer = None  # sessions are no text

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
    ) -> None:
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; expected 1 or more items that a prediction sees")
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
        self.item_names: list[str] = [] if item_names is None else list(item_names)
        self._data: SessionSplits | None = None
        self._sessions: dict[str, list[Session]] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._sessions)

    @property
    def fingerprint(self) -> str:
        """The content hashes of the splits, as text."""
        return ", ".join(f"{name} {value[:16]}" for name, value in sorted(self._loaded().fingerprint.items()))

    def model_sizes(self) -> dict[str, int | list[str]]:
        """The fields of a model's config that follow from the data: the number of items, and their names."""
        return {"num_items": len(self.item_names), "item_names": self.item_names}

    def sessions(self, split: str) -> list[Session]:
        """Return the sessions of a split that have something to predict.

        Raises:
            ValueError: there is no such split.
        """
        if split not in self._sessions:
            raise ValueError(f"dataset {self.dataset!r} gives no {split!r} rows; it gives {sorted(self._sessions)}")
        return self._sessions[split]

    def prepare_data(self) -> None:
        """Read and check the dataset, once on each machine."""
        self._loaded()

    def setup(self, stage: str | None = None) -> None:
        """Number the items, and cut the sessions, on every process."""
        if self._sessions:
            return
        splits = self._loaded().splits
        if not self.item_names:
            if "train" not in splits:
                raise TextFormatError(
                    f"dataset {self.dataset!r} has the splits {sorted(splits)}, none that says which items there are; "
                    "expected one named 'train', or give item_names"
                )
            self.item_names = sorted({item for items in splits["train"][ITEMS] for item in items})
        numbers = {name: number for number, name in enumerate(self.item_names, start=1)}
        for split, rows in splits.items():
            sessions = [np.array([numbers.get(item, 0) for item in items]) for items in rows[ITEMS]]
            self.left_out[split] = sum(int((session == 0).sum()) for session in sessions)
            known = [session[session > 0] for session in sessions]
            self._sessions[split] = [piece for session in known for piece in self._pieces(session)]

    def batches(self, split: str, *, training: bool) -> SessionBatches:
        sessions = self.sessions(split)
        if not sessions:
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: no session has two of the {len(self.item_names):,} known "
                "items, so that nothing is to predict"
            )
        return SessionBatches(sessions)

    def _pieces(self, session: Session) -> list[Session]:
        starts = range(0, len(session) - 1, self.max_length)
        return [session[start : start + self.max_length + 1] for start in starts]

    def _loaded(self) -> SessionSplits:
        if self._data is None:
            self._data = read_sessions(self.dataset, self.data_dir, self.columns)
        return self._data
