"""Ratings: drawn from a model of their own, or of a user's files; checked rows and batches."""

from __future__ import annotations

import math
from typing import Any

import datasets
import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader

from ctxzoo.data.formats import SAMPLE, TextFormatError
from ctxzoo.data.row_files import load_split_tables, read_csv_or_tsv
from ctxzoo.data.sources import dataset_fingerprint

COLUMNS = ("user", "item", "rating")
SIZES = {"train": 64, "validation": 16, "test": 16}


def read_ratings(dataset: str, data_dir: str | None = None, users: int = 8, items: int = 6) -> dict[str, Any]:
    """Return split to checked rows with `user`, `item`, whole numbers from 0, and `rating`.

    Args:
        dataset: "sample" for generated ratings, or a Hub id, folder or .csv file.
        data_dir: Folder of datasets as `<namespace>/<name>`.
        users, items: Numbers of them in generated ratings.

    Raises:
        TextFormatError: a column or a number is missing, or an id is none.
    """
    if dataset == SAMPLE:
        return sample_ratings(users, items)
    splits, origin = load_split_tables(dataset, data_dir, (".csv",), read_csv_or_tsv)
    return {name: checked_ratings(rows, origin[name]) for name, rows in splits.items()}


def checked_ratings(rows: datasets.Dataset, where: str) -> datasets.Dataset:
    """Return the rows with numbers in place of their texts, each checked by itself, so that errors name the bad one."""
    missing = [column for column in COLUMNS if column not in rows.column_names]
    if missing:
        raise TextFormatError(f"{where}: no column {missing[0]!r}, only {', '.join(rows.column_names)}")
    found: dict[str, list[Any]] = {}
    for column in COLUMNS:
        kind, wanted = (float, "a number") if column == "rating" else (int, "a whole number from 0")
        found[column] = []
        for row, value in enumerate(rows[column]):
            try:
                number: Any = kind(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number) or (column != "rating" and number < 0):
                raise TextFormatError(f"{where}, row {row}: {column} is {value!r}; expected {wanted}")
            found[column].append(number)
    return datasets.Dataset.from_dict(found)


def sample_ratings(users: int, items: int) -> dict[str, datasets.Dataset]:
    """Return ratings drawn from tastes and worths; every split has rows of its own."""
    generator = torch.Generator().manual_seed(0)
    taste, worth = (torch.randn(number, generator=generator) for number in (users, items))
    found = {}
    for split, size in SIZES.items():
        user = torch.randint(users, (size,), generator=generator)
        item = torch.randint(items, (size,), generator=generator)
        columns = (user, item, 3 + taste[user] + worth[item])
        found[split] = datasets.Dataset.from_dict(
            {name: values.tolist() for name, values in zip(COLUMNS, columns, strict=True)}
        )
    return found


class RatingDataModule(lightning.LightningDataModule):
    """Batches of ratings: `users`, `items` (B,), int64, `labels` (B,) and `row` (B,), rows of the split.

    Args:
        dataset, data_dir, users, items: Arguments of `read_ratings`.
        batch_size: Ratings of a step.
    """

    tokenizer = None

    def __init__(
        self, dataset: str, *, data_dir: str | None = None, users: int = 8, items: int = 6, batch_size: int = 16
    ) -> None:
        super().__init__()
        self.dataset, self.data_dir, self.users, self.items = dataset, data_dir, users, items
        self.batch_size = batch_size
        self.splits: dict[str, Any] = {}

    def setup(self, stage: str | None = None) -> None:
        self.splits = read_ratings(self.dataset, self.data_dir, self.users, self.items)

    @property
    def fingerprint(self) -> str:
        return ", ".join(f"{name} {dataset_fingerprint(rows)}" for name, rows in self.splits.items())

    def model_sizes(self) -> dict[str, int]:
        sizes = {"num_users": "user", "num_items": "item"}
        return {
            name: 1 + max(int(max(rows[column])) for rows in self.splits.values()) for name, column in sizes.items()
        }

    def rows(self, split: str) -> dict[str, torch.Tensor]:
        """Return the columns of a split by the names of the model's inputs."""
        if split not in self.splits:
            raise ValueError(f"no split {split!r}; there are {', '.join(self.splits)}")
        users, items, ratings = (np.asarray(self.splits[split][name]) for name in COLUMNS)
        ids = {"users": torch.as_tensor(users).long(), "items": torch.as_tensor(items).long()}
        return {**ids, "labels": torch.as_tensor(ratings).float(), "row": torch.arange(len(users))}

    def split_dataloader(self, split: str) -> DataLoader[dict[str, torch.Tensor]]:
        columns = self.rows(split)
        rows = [{name: values[row] for name, values in columns.items()} for row in range(len(columns["row"]))]
        return DataLoader(rows, batch_size=self.batch_size)  # type: ignore[arg-type]

    def train_dataloader(self) -> DataLoader[dict[str, torch.Tensor]]:
        return self.split_dataloader("train")

    def val_dataloader(self) -> DataLoader[dict[str, torch.Tensor]]:
        return self.split_dataloader("validation")
