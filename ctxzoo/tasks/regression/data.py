"""Rows of numbers for Lightning: all rows, or parts of them, are a sequence, and targets of a split are what counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.data.bucketing import (
    BucketSampler,
    ResumableLoader,
    build_bucket_loader,
    build_resumable_loader,
    get_rank_and_world_size,
)
from ctxzoo.data.checked_data import CheckedDataModule
from ctxzoo.data.formats import SPLITS, TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import LEAST_ROWS, RowGroups
from ctxzoo.tasks.regression.experiments import BEST_TEST, PROTOCOLS, VALIDATION
from ctxzoo.tasks.regression.reader import Numbers, RegressionRows, RegressionSplits, group_rows, read_rows

HELD_OUT = 0.1  # of the rows, for test, and again for validation


def draw_random_split(groups: npt.NDArray[np.int64], seed: int, protocol: str) -> dict[str, npt.NDArray[np.int64]]:
    """Divide groups of rows at random: a tenth for test and, with "validation", a tenth for validation.

    With "best_test", the protocol of IKA's code, training has all other rows, and the epoch is chosen on the test rows:
    a score that no one could have had beforehand.

    Args:
        groups: (n,) group number of each row; rows with the same number go into the same part; `arange(n)`: no
            grouping.
        seed: Seed of the random draw.
        protocol: Protocol by which the epoch is chosen: "validation", on held-out rows, or "best_test", on the test
            rows as in IKA's code.

    Returns:
        Name to rows, ascending.
    """
    names = np.unique(groups)
    order = names[np.random.default_rng(seed).permutation(len(names))]
    num_held_out = max(1, round(HELD_OUT * len(names)))
    test, train = order[:num_held_out], order[num_held_out:]
    parts = {"train": train, "validation": test, "test": test}
    if protocol != BEST_TEST:
        parts = {"train": train[num_held_out:], "validation": train[:num_held_out], "test": test}
    return {name: np.flatnonzero(np.isin(groups, members)) for name, members in parts.items()}


@dataclass(frozen=True)
class Scaling:
    """Linear maps of features and target: scaled = (value - offset) / scale.

    Attributes:
        offsets, scales: Offset and scale of each feature, and of the target as the last entry.
    """

    offsets: list[float]
    scales: list[float]

    @classmethod
    def from_rows(cls, features: Numbers, targets: Numbers) -> Scaling:
        """Return the scaling to [-1, 1] of features (n, I) and targets (n,); a constant column is only shifted."""
        offsets, scales = _compute_offsets_and_scales(np.column_stack([features, targets]))
        return cls(offsets.tolist(), scales.tolist())

    def scale_features(self, features: Numbers) -> Numbers:
        """Return features (n, I) scaled."""
        found: Numbers = (features - np.array(self.offsets[:-1])) / np.array(self.scales[:-1])
        return found

    def scale_targets(self, targets: Numbers) -> Numbers:
        """Return targets (n,) scaled."""
        found: Numbers = (targets - self.offsets[-1]) / self.scales[-1]
        return found


def _compute_offsets_and_scales(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return for each column of values (N, C) its centre and half of its range (C,); dividing by them gives -1 to 1."""
    low, high = values.min(axis=0), values.max(axis=0)
    half = (high - low) / 2
    return (high + low) / 2, np.where(half > 0, half, 1.0)


class OneSequence(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """A dataset of one row, the sequence of all rows, with the targets of a split."""

    def __init__(self, inputs: Numbers, labels: Numbers) -> None:
        self.inputs, self.labels = inputs, labels

    def __len__(self) -> int:
        return 1

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the length of the only sequence, (1,), to put rows of like length into a batch."""
        return np.array([len(self.inputs)])

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return all rows as one sequence: inputs (1, N, F) and labels (1, N, 1); `numbers` go to `row`."""
        return {
            "inputs_embeds": torch.from_numpy(self.inputs).float().unsqueeze(0),
            "attention_mask": torch.ones(1, len(self.inputs), dtype=torch.int64),
            "labels": torch.from_numpy(self.labels).float().view(1, -1, 1),
            "row": torch.tensor(list(numbers)),
        }


class PartsOfRows(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """A dataset of rows with targets, of which any number is a sequence of its own."""

    def __init__(self, inputs: Numbers, labels: Numbers) -> None:
        self.inputs, self.labels = inputs, labels

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the rows of these numbers as one sequence: inputs (1, n, F) and labels (1, n, 1)."""
        rows = list(numbers)
        return {**OneSequence(self.inputs[rows], self.labels[rows])[[0]], "row": torch.tensor(rows)}


class RegressionDataModule(CheckedDataModule[RegressionSplits]):
    """All rows of a dataset as one sequence, of which the targets of one split are known at a time.

    The features of validation and test rows are read in training, their targets are not (ika.md, 1.7). Features and
    target are scaled by the training rows alone, see `Scaling`; scores are in the unit of the target.

    A batch is a dict of `inputs_embeds` (1, n, I) float32 scaled, `attention_mask` (1, n), `labels` (1, n, 1) scaled,
    NaN outside the split, and `row` (1,).

    Args:
        dataset, data_dir, config_name, target_column, feature_columns, group_column: Data to read, folder of datasets,
            configuration, and names of the target, feature and group columns, as in `read_rows`; rows of one group stay
            in one part.
        split_number: Number of the random split, from 0, used as its seed in `draw_random_split`; None: the dataset's
            own splits.
        protocol: Rows by which the epoch is chosen: "validation", or "best_test" (the test rows; only with a random
            split).
        rows_per_step: Largest number of training rows in a step, which attend to each other; larger sets are cut into
            random parts each epoch; None: all rows.
        seed: Seed of the random parts of an epoch.
        scaling: Scaling of features and target from an existing model; default: computed from the training rows.
        divide: Whether data with a single split "train" is split into train, validation and test; without effect if
            `split_number` is given.

    Raises:
        ValueError: an unknown protocol, "best_test" without a `split_number`, or parts of less than two rows.
    """

    tokenizer = None  # numbers are no text

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        config_name: str | None = None,
        target_column: str | None = None,
        feature_columns: Sequence[str] | None = None,
        group_column: str | None = None,
        split_number: int | None = None,
        protocol: str = VALIDATION,
        rows_per_step: int | None = None,
        seed: int = 0,
        scaling: Scaling | None = None,
        divide: bool = True,
    ) -> None:
        super().__init__(dataset, data_dir, divide=divide and split_number is None)
        if protocol not in PROTOCOLS or (protocol == BEST_TEST and split_number is None):
            raise ValueError(
                f"protocol={protocol!r} with split_number={split_number}: expected one of {', '.join(PROTOCOLS)}, and "
                "a split_number with best_test"
            )
        if rows_per_step is not None and rows_per_step < 2:
            raise ValueError(f"rows_per_step={rows_per_step}: expected 2 or more, which read each other")
        self.config_name, self.target_column = config_name, target_column
        self.feature_columns, self.group_column = feature_columns, group_column
        self.rows_per_step = rows_per_step
        self.split_number, self.protocol, self.seed = split_number, protocol, seed
        self._scaling = scaling
        self.parts: dict[str, npt.NDArray[np.int64]] = {}
        self.features: Numbers = np.empty((0, 0))
        self.targets: Numbers = np.empty(0)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self.parts)

    def setup(self, stage: str | None = None) -> None:
        """Put all rows in order, divide and scale them, on every process."""
        if self.parts:
            return
        splits = self.load_checked_data().splits
        rows = list(splits.values())
        order = np.argsort(np.concatenate([one.numbers for one in rows]), kind="stable")
        self.features = np.concatenate([one.features for one in rows])[order]
        self.targets = np.concatenate([one.targets for one in rows])[order]
        self.parts = (
            self._list_rows_of_splits(splits, order) if self.split_number is None else self._draw_split(rows, order)
        )
        if self._scaling is None:
            if "train" not in self.parts:
                raise TextFormatError(
                    f"dataset {self.dataset!r} has the splits {sorted(splits)}, none to scale by; expected one named "
                    "'train'"
                )
            train = self.parts["train"]
            self._scaling = Scaling.from_rows(self.features[train], self.targets[train])

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the data: features, target, and its rows."""
        loaded = self.load_checked_data()
        return {
            "input_size": len(loaded.feature_names),
            "feature_names": loaded.feature_names,
            "target_name": loaded.target_name,
            "num_context_rows": len(self.parts["train"]),
        }

    @property
    def scaling(self) -> Scaling:
        """The scaling of features and target; after `setup`."""
        assert self._scaling is not None, "call setup() first"
        return self._scaling

    def row_indices(self, split: str) -> npt.NDArray[np.int64]:
        """Return the places of a split's rows in the sequence of all rows.

        Raises:
            ValueError: there is no such split.
        """
        return self.get_split(self.parts, split)

    def scale_all_features(self) -> Numbers:
        """Return the scaled features of all rows (n, I), as the model reads them; after `setup`."""
        return self.scaling.scale_features(self.features)

    def batches(self, split: str) -> OneSequence:
        """Return the dataset of a split: the sequence of all rows with the targets of the split.

        Raises:
            ValueError: there is no such split.
        """
        rows = self.row_indices(split)
        labels = np.full(len(self.targets), np.nan)
        labels[rows] = self.scaling.scale_targets(self.targets[rows])
        return OneSequence(self.scale_all_features(), labels)

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split; of several processes each reads all rows and predicts a part of them.

        Raises:
            ValueError: there is no such split, or it has fewer rows than there are processes.
        """
        batches, rows = self.batches(split), self.row_indices(split)
        rank, world_size = get_rank_and_world_size()
        if len(rows) < world_size:
            raise ValueError(
                f"{split} has {format_count(len(rows), 'rows')} for {world_size} processes, and each needs one"
            )
        others = np.setdiff1d(rows, rows[rank::world_size])
        batches.labels[others] = np.nan
        return build_resumable_loader(batches, BucketSampler(batches.lengths(), 1, shuffle=False, rank=0, world_size=1))

    def train_dataloader(self) -> ResumableLoader:
        rows = self.row_indices("train")
        if self.rows_per_step is None or len(rows) <= self.rows_per_step:
            return self.split_dataloader("train")
        size = math.ceil(len(rows) / math.ceil(len(rows) / self.rows_per_step))  # parts of about one size
        parts = PartsOfRows(self.scale_all_features()[rows], self.batches("train").labels[rows])
        return build_bucket_loader(
            parts, np.ones(len(rows), np.int64), size, shuffle=True, seed=self.seed, pool_batches=1
        )

    def read_dataset(self) -> RegressionSplits:
        """Read and check features and target of each split."""
        return read_rows(
            self.dataset,
            self.data_dir,
            self.config_name,
            self.target_column,
            self.feature_columns,
            self.group_column,
        )

    def group_related_rows(self, checked: RegressionSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_rows(checked, self.group_column)

    def _draw_split(
        self, rows: Sequence[RegressionRows], order: npt.NDArray[np.int64]
    ) -> dict[str, npt.NDArray[np.int64]]:
        """Draw the random split of this number: for each split the places of its rows in `order`; rows of a group stay
        together.
        """
        assert self.split_number is not None
        number = len(order)
        if number < LEAST_ROWS:
            raise TextFormatError(
                f"dataset {self.dataset!r} has {format_count(number, 'rows')}; expected {LEAST_ROWS} or more to divide"
            )
        found = [one.groups for one in rows if one.groups is not None]
        groups = np.concatenate(found)[order] if found else np.arange(number)
        if (different := len(np.unique(groups))) < len(SPLITS):
            raise TextFormatError(
                f"dataset {self.dataset!r} has {format_count(different, 'values')} in {self.group_column!r}; expected "
                f"{len(SPLITS)} or more to divide by"
            )
        return draw_random_split(groups, self.split_number, self.protocol)

    def _list_rows_of_splits(
        self, splits: dict[str, RegressionRows], order: npt.NDArray[np.int64]
    ) -> dict[str, npt.NDArray[np.int64]]:
        """List for each given split the places of its rows in `order`, a permutation of all rows."""
        owner = np.repeat(np.arange(len(splits)), [len(rows) for rows in splits.values()])[order]
        return {split: np.flatnonzero(owner == place) for place, split in enumerate(splits) if split in SPLITS}
