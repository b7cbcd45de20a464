"""Ratings drawn from a model of their own."""

from __future__ import annotations

import lightning
import torch
from torch.utils.data import DataLoader

SIZES = {"train": 64, "validation": 16, "test": 16}


class RatingDataModule(lightning.LightningDataModule):
    """Generated ratings; every split has rows of its own."""

    tokenizer = None

    def __init__(
        self, dataset: str, *, data_dir: str | None = None, users: int = 8, items: int = 6, batch_size: int = 16
    ) -> None:
        super().__init__()
        if dataset != "sample":
            raise ValueError(f"dataset is {dataset!r}; ratings are generated, expected 'sample'")
        self.dataset, self.users, self.items, self.batch_size = dataset, users, items, batch_size
        self.splits: tuple[str, ...] = ()

    def setup(self, stage: str | None = None) -> None:
        generator = torch.Generator().manual_seed(0)
        taste, worth = (torch.randn(number, generator=generator) for number in (self.users, self.items))
        self._rows = {}
        for split, size in SIZES.items():
            users = torch.randint(self.users, (size,), generator=generator)
            items = torch.randint(self.items, (size,), generator=generator)
            self._rows[split] = {"users": users, "items": items, "labels": 3 + taste[users] + worth[items]}
        self.splits = tuple(self._rows)

    @property
    def fingerprint(self) -> str:
        return f"train {self.users} by {self.items}"

    def model_sizes(self) -> dict[str, int]:
        return {"num_users": self.users, "num_items": self.items}

    def rows(self, split: str) -> dict[str, torch.Tensor]:
        return self._rows[split]

    def split_dataloader(self, split: str) -> DataLoader[dict[str, torch.Tensor]]:
        if split not in self._rows:
            raise ValueError(f"no split {split!r}; there are {', '.join(self._rows)}")
        columns = self._rows[split]
        rows = [{name: values[row] for name, values in columns.items()} for row in range(SIZES[split])]
        for row, values in enumerate(rows):
            values["row"] = torch.tensor(row)
        return DataLoader(rows, batch_size=self.batch_size)  # type: ignore[arg-type]

    def train_dataloader(self) -> DataLoader[dict[str, torch.Tensor]]:
        return self.split_dataloader("train")

    def val_dataloader(self) -> DataLoader[dict[str, torch.Tensor]]:
        return self.split_dataloader("validation")
