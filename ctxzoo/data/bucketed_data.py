"""The base of DataModules that read their splits in batches of similar length."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic

import pyarrow as pa

from ctxzoo.data.bucketing import POOL_BATCHES, ResumableLoader, build_bucket_loader
from ctxzoo.data.checked_data import Checked, CheckedDataModule
from ctxzoo.data.formats import Rows
from ctxzoo.data.training_stream import SHUFFLE_BUFFER, RowPools, build_stream_loader


class BucketedDataModule(CheckedDataModule[Checked], Generic[Checked]):
    """A DataModule whose loaders go on where an interrupted epoch stopped; see `build_bucket_loader`.

    Args:
        dataset, data_dir, divide: Name of the dataset, its folder, and whether it is split into three parts, as in
            `CheckedDataModule`.
        batch_size, eval_batch_size: Batch size of the training, and of validation, test and prediction.
        seed: Seed of the random order of training batches.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        pool_batches: Number of batches whose examples are sorted by length together; 1: batches are random.
        streaming, shuffle_buffer: Whether training rows stay on the disk, and how many are read together, as in
            `CheckedDataModule`.
    """

    def __init__(
        self,
        dataset: str,
        data_dir: str | None,
        *,
        batch_size: int,
        eval_batch_size: int,
        seed: int,
        num_workers: int,
        divide: bool,
        pool_batches: int = POOL_BATCHES,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        super().__init__(dataset, data_dir, divide=divide, streaming=streaming, shuffle_buffer=shuffle_buffer)
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.seed = seed
        self.num_workers = num_workers
        self.pool_batches = pool_batches

    @abstractmethod
    def batches(self, split: str, *, training: bool) -> Any:
        """Return a split as a dataset: `batches[rows]` is a whole batch, and `lengths()` tells how to group rows.

        Args:
            split: Name of the split.
            training: Whether the model is trained on these batches, which are then shuffled.

        Raises:
            ValueError: there is no such split.
        """

    def build_stream_batches(self, rows: pa.Table) -> tuple[Any, Rows]:
        """Return streamed training rows as a dataset like that of `batches`, and which rows it has.

        A subclass that streams says how.
        """
        raise NotImplementedError

    def train_dataloader(self) -> ResumableLoader:
        if not self.streaming:
            return self._build_loader("train", training=True)
        pools = RowPools(
            self.training_stream,
            self.build_stream_batches,
            batch_size=self.batch_size,
            shuffle_buffer=self.shuffle_buffer,
            seed=self.seed,
        )
        return build_stream_loader(pools, self.num_workers)

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of the split in a fixed order, as for evaluation."""
        return self._build_loader(split, training=False)

    def _build_loader(self, split: str, *, training: bool) -> ResumableLoader:
        """Return a loader of the split in batches of similar length, shuffled for training."""
        batches = self.batches(split, training=training)
        return build_bucket_loader(
            batches,
            batches.lengths(),
            self.batch_size if training else self.eval_batch_size,
            shuffle=training,
            seed=self.seed,
            num_workers=self.num_workers,
            pool_batches=self.pool_batches,
        )
