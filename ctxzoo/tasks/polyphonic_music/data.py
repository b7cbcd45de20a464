"""Polyphonic music for Lightning: from a dataset, MIDI files or the generated sample to batches of whole pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.formats import Rows, TextFormatError
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.tasks.polyphonic_music.midi import Grid
from ctxzoo.tasks.polyphonic_music.reader import MusicSplits, group_equal_pieces, read_music
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, Roll, Rolls


class RollBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch, see `PolyphonicMusicDataModule`.

    Args:
        rolls: Piano rolls of all pieces of a split.
        rows: (n,) rows of the split that make up this dataset, which are renumbered 0..n-1.
    """

    def __init__(self, rolls: Rolls, rows: Rows) -> None:
        self.rolls = rolls
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return (n,) the number of steps to predict of each piece, for bucketing."""
        return self.rolls.lengths()[self.rows] - 1

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the pieces of these numbers as a padded batch, with their rows in `row` (B,)."""
        rows = self.rows[np.asarray(numbers)]
        return {**build_model_inputs([self.rolls.roll(row) for row in rows]), "row": torch.from_numpy(rows)}


def build_model_inputs(rolls: Sequence[Roll]) -> dict[str, torch.Tensor]:
    """Return a padded batch of pieces: each step as an input and the step after it as its label.

    Args:
        rolls: List of B boolean piano rolls, (T, 88) each: T time steps, 2 or more, over 88 piano keys.

    Returns:
        `inputs_embeds` (B, n, 88), all steps of a piece but its last; `labels` (B, n, 88), all but its first, both
        float32; `attention_mask` (B, n) int64, 1 at real steps. n is T - 1 of the longest; padding is on the right.
    """
    lengths = [len(roll) - 1 for roll in rolls]
    shape = (len(rolls), max(lengths), KEYS)
    inputs, labels = torch.zeros(shape), torch.zeros(shape)
    mask = torch.zeros(shape[:2], dtype=torch.int64)
    for row, (roll, length) in enumerate(zip(rolls, lengths, strict=True)):
        values = torch.from_numpy(roll)
        inputs[row, :length], labels[row, :length] = values[:-1], values[1:]
        mask[row, :length] = 1
    return {"inputs_embeds": inputs, "attention_mask": mask, "labels": labels}


class PolyphonicMusicDataModule(BucketedDataModule[MusicSplits]):
    """Pieces of music in bucketed batches: what sounds at a step is to be predicted from the steps before it.

    Splits: those of `train`, `validation` and `test` that the dataset has. A piece of one step has nothing to predict
    and is in no batch.

    A batch is a dict of what `build_model_inputs` gives and `row` (B,) int64, the pieces' rows in `pieces(split)`.

    Args:
        dataset: Data to read: "sample" (generated music), or a Hub id, folder or file, as `read_music` takes it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        config_name: Name of the dataset's configuration, such as "jsb_chorales"; default: the dataset's own default.
        steps_per_beat, step_seconds: Time grid for MIDI files: steps in a beat, or seconds in a step instead, as in
            `Grid`.
        batch_size, eval_batch_size: Number of pieces in a batch, in training and in evaluation; the authors train with
            1.
        seed: Seed of the random order of batches.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`.

    Raises:
        ValueError: see `Grid`.
    """

    tokenizer = None  # music is no text

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        config_name: str | None = None,
        steps_per_beat: float = 2.0,
        step_seconds: float | None = None,
        batch_size: int = 1,
        eval_batch_size: int = 8,
        seed: int = 0,
        num_workers: int = 0,
        divide: bool = True,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
        )
        self.config_name = config_name
        self.grid = Grid(steps_per_beat, step_seconds)
        self._rolls: dict[str, Rolls] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._rolls)

    def model_sizes(self) -> dict[str, int]:
        """The fields of a model's config that follow from the data: it reads keys and predicts keys."""
        return {"input_size": KEYS, "num_labels": KEYS}

    def pieces(self, split: str) -> Rolls:
        """Return the rolls of a split, to whose pieces `row` of a batch refers.

        Raises:
            ValueError: there is no such split.
        """
        return self.get_split(self._rolls, split)

    def setup(self, stage: str | None = None) -> None:
        """Build the rolls of each split, on every process."""
        if not self._rolls:
            self._rolls = {name: Rolls.from_split(split) for name, split in self.load_checked_data().splits.items()}

    def batches(self, split: str, *, training: bool) -> RollBatches:
        """Return the pieces of a split that have two steps or more, to batch."""
        rolls = self.pieces(split)
        rows = np.flatnonzero(rolls.lengths() > 1)
        if not len(rows):
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: every piece has one step, so that nothing is to predict"
            )
        return RollBatches(rolls, rows)

    def read_dataset(self) -> MusicSplits:
        """Read and check the pieces of each split."""
        return read_music(self.dataset, self.data_dir, self.config_name, grid=self.grid)

    def group_related_rows(self, checked: MusicSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_equal_pieces(checked)
