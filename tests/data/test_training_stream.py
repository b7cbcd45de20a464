"""Batches of a stream: every row once in an epoch, in every process as many batches, the same after a restart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ctxzoo.data.training_stream import (
    STREAM,
    BatchPlace,
    RowPools,
    StreamFacts,
    StreamSampler,
    TrainingStream,
    build_stream_loader,
    name_file,
    write_facts,
)

BLOCK = 20


class Rows:
    """A dataset of rows that are their own batches."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def lengths(self) -> np.ndarray:
        return self.values % 7

    def __getitem__(self, numbers: np.ndarray) -> dict[str, Any]:
        return {"value": self.values[numbers].tolist()}


def build_rows(table: pa.Table) -> tuple[Rows, np.ndarray]:
    return Rows(table.column("value").to_numpy()), np.arange(len(table))


@pytest.fixture
def stream(tmp_path):
    def write(rows: int) -> TrainingStream:
        (tmp_path / STREAM).mkdir(exist_ok=True)
        values = np.arange(rows)
        table = pa.table({"value": values})
        pq.write_table(table, tmp_path / STREAM / name_file(0), row_group_size=BLOCK)
        sizes = [len(values[start : start + BLOCK]) for start in range(0, rows, BLOCK)]
        facts = StreamFacts(rows, BLOCK, sizes, sampled=0, longest=0, names={}, fingerprint="", notes=[])
        write_facts(facts, tmp_path)
        return TrainingStream(tmp_path)

    return write


def read_epoch(pools: RowPools, epoch: int, rank: int, world_size: int) -> list[list[int]]:
    batches = []
    for pool, size in enumerate(pools.list_sizes(epoch)):
        of_pool = pools.read_pool(BatchPlace(epoch, pool, 0, rank, world_size))
        for number in range(pools.count_batches(size, world_size)):
            batch = of_pool[number]
            assert batch["row"].tolist() == batch["value"]  # a row keeps its number in the stream
            batches.append(batch["value"])
    return batches


@pytest.mark.parametrize("rows", [20, 21, 203, 400])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_an_epoch_has_every_row_once_and_every_process_as_many_batches(stream, rows, world_size):
    pools = RowPools(stream(rows), build_rows, batch_size=8, shuffle_buffer=3 * BLOCK, seed=5)
    epochs = [[read_epoch(pools, epoch, rank, world_size) for rank in range(world_size)] for epoch in range(2)]
    for ranks in epochs:
        assert len({len(batches) for batches in ranks}) == 1
        assert all(0 < len(batch) <= 8 for batches in ranks for batch in batches)
        assert sorted(row for batches in ranks for batch in batches for row in batch) == list(range(rows))
    assert len(epochs[0][0]) == len(epochs[1][0])
    assert epochs[0] != epochs[1]
    assert epochs[0] == [read_epoch(pools, 0, rank, world_size) for rank in range(world_size)]


def test_rows_of_one_block_are_read_in_few_batches_only_where_the_buffer_is_small(stream):
    """A batch mixes the rows of all blocks of a pool."""
    wide = RowPools(stream(400), build_rows, batch_size=8, shuffle_buffer=400, seed=0)
    blocks = [len({row // BLOCK for row in batch}) for batch in read_epoch(wide, 0, 0, 1)]
    assert np.mean(blocks) > 5
    narrow = RowPools(stream(400), build_rows, batch_size=8, shuffle_buffer=1, seed=0)
    assert {len({row // BLOCK for row in batch}) for batch in read_epoch(narrow, 0, 0, 1)} == {1}


@pytest.mark.parametrize("num_workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_loader_goes_on_behind_the_batches_that_were_seen(stream, num_workers):
    pools = RowPools(stream(203), build_rows, batch_size=8, shuffle_buffer=3 * BLOCK, seed=5)

    def build_loader() -> Any:
        loader = build_stream_loader(pools, num_workers)
        loader.sampler.set_epoch(1)
        return loader

    expected = [batch["value"] for batch in build_loader()]
    assert expected == read_epoch(pools, 1, 0, 1)
    first = build_loader()
    iterator = iter(first)
    begin = [next(iterator)["value"] for _ in range(11)]
    second = build_loader()
    second.load_state_dict(first.state_dict())
    assert begin + [batch["value"] for batch in second] == expected


def test_more_workers_and_too_many_processes_are_refused(stream):
    pools = RowPools(stream(400), build_rows, batch_size=8, shuffle_buffer=1, seed=0)
    with pytest.raises(ValueError, match="num_workers is 2; expected 0 or 1: a stream is read pool by pool"):
        build_stream_loader(pools, 2)
    sampler = StreamSampler(pools)
    sampler.check_number_of_processes(20)
    with pytest.raises(ValueError, match="20 rows for 21 processes, and each needs a batch of it"):
        sampler.check_number_of_processes(21)
