from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketing import POOL_BATCHES, BucketSampler, ResumableLoader, disable_distributed_sharding

LENGTHS = np.random.default_rng(0).integers(1, 400, size=1003)


def sampler(lengths=LENGTHS, batch_size: int = 16, shuffle: bool = True, epoch: int = 0, **options) -> BucketSampler:
    result = BucketSampler(lengths, batch_size, shuffle=shuffle, **options)
    result.set_epoch(epoch)
    return result


def flat(batches: Sequence[Sequence[int]]) -> list[int]:
    return [row for batch in batches for row in batch]


def padding(batches: Sequence[Sequence[int]]) -> float:
    """Share of places that hold no word when each batch is padded to its longest row."""
    places = sum(len(batch) * LENGTHS[batch].max() for batch in batches)
    return float(1 - LENGTHS.sum() / places)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1003])
def test_one_process_reads_every_row_once(shuffle, rows):
    batches = list(sampler(LENGTHS[:rows], shuffle=shuffle))
    assert sorted(flat(batches)) == list(range(rows))
    assert len(batches) == len(sampler(LENGTHS[:rows], shuffle=shuffle)) == -(-rows // 16)
    assert max(map(len, batches)) <= 16


@pytest.mark.parametrize("world_size", [2, 3, 5])
def test_processes_of_a_training_take_equally_many_different_batches(world_size):
    shares = [list(sampler(rank=rank, world_size=world_size)) for rank in range(world_size)]
    assert {len(share) for share in shares} == {63 // world_size}
    rows = flat(flat(shares))
    assert len(rows) == len(set(rows))
    assert len(rows) >= 1003 - 16 * (63 % world_size)
    assert [len(sampler(rank=rank, world_size=world_size)) for rank in range(world_size)] == [63 // world_size] * (
        world_size
    )


@pytest.mark.parametrize("world_size", [2, 3, 5])
def test_processes_of_an_evaluation_read_every_row_exactly_once(world_size):
    shares = [list(sampler(shuffle=False, rank=rank, world_size=world_size)) for rank in range(world_size)]
    assert sorted(flat(flat(shares))) == list(range(1003))
    assert [len(sampler(shuffle=False, rank=rank, world_size=world_size)) for rank in range(world_size)] == [
        len(share) for share in shares
    ]


def test_batches_left_out_differ_from_epoch_to_epoch():
    left = {
        frozenset(set(range(1003)) - set(flat(flat([list(sampler(rank=r, world_size=2, epoch=e)) for r in range(2)]))))
        for e in range(4)
    }
    assert len(left) > 1


def test_order_is_a_function_of_seed_and_epoch():
    order = list(sampler(seed=5, epoch=3))
    assert list(sampler(seed=5, epoch=3)) == order
    others = [list(sampler(seed=seed, epoch=epoch)) for seed, epoch in [(5, 4), (6, 3), (3, 5), (0, 0)]]
    assert all(flat(other) != flat(order) for other in others)
    # Rows meet other rows in another epoch, not only in another order of batches.
    assert {frozenset(batch) for batch in others[0]} != {frozenset(batch) for batch in order}


def test_evaluation_order_is_longest_first_and_the_same_in_every_epoch():
    batches = list(sampler(shuffle=False, epoch=0))
    assert batches == list(sampler(shuffle=False, epoch=7, seed=9))
    lengths = LENGTHS[flat(batches)]
    assert (np.diff(lengths) <= 0).all()


def test_padding_is_far_below_that_of_random_batches():
    random = np.random.default_rng(1).permutation(len(LENGTHS))
    at_random = padding([random[start : start + 16].tolist() for start in range(0, len(random), 16)])
    assert at_random > 0.4
    assert padding(list(sampler())) < 0.1
    assert padding(list(sampler(shuffle=False))) < 0.05


def test_a_pool_of_one_batch_gives_random_batches():
    batches = list(sampler(pool_batches=1, seed=5, epoch=3))
    assert sorted(flat(batches)) == list(range(1003))
    assert sorted(map(len, batches)) == [1003 % 16, *[16] * 62]
    assert padding(batches) > 0.4
    # Rows of one length, such as the questions of one context, meet as often as chance has it.
    lengths = np.repeat(np.arange(251), 4)[:1003]
    met = [len({int(length) for length in lengths[batch]}) for batch in sampler(lengths, pool_batches=1)]
    assert np.mean(met) > 15.5
    assert list(sampler(pool_batches=1, seed=5, epoch=3)) == batches
    assert list(sampler(pool_batches=1, seed=5, epoch=4)) != batches


def test_a_pass_over_random_batches_that_is_resumed_gives_the_rest_of_the_uninterrupted_one():
    whole = batches_of(loader(epoch=2, pool_batches=1))
    resumed = loader(epoch=2, pool_batches=1)
    resumed.load_state_dict({"epoch": 2, "batches": 5})
    assert batches_of(resumed) == whole[5:]


def test_a_pool_below_one_batch_is_refused():
    with pytest.raises(ValueError, match="pool_batches must be at least 1, got 0; 1 gives random batches"):
        BucketSampler(LENGTHS, 4, shuffle=True, pool_batches=0)


def test_training_batches_do_not_come_in_order_of_length():
    longest = np.array([LENGTHS[batch].max() for batch in sampler()])
    positions = np.arange(len(longest))
    assert abs(np.corrcoef(positions, longest)[0, 1]) < 0.3
    assert len(longest) > POOL_BATCHES  # more than one pool


def test_batch_size_below_one_is_refused():
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        BucketSampler(LENGTHS, 0, shuffle=True)


@pytest.mark.parametrize(("rows", "world_size"), [(5, 2), (5, 4), (16, 3), (3, 3), (40, 2)])
def test_no_process_of_an_evaluation_is_without_a_batch(rows, world_size):
    shares = [
        list(sampler(LENGTHS[:rows], shuffle=False, rank=rank, world_size=world_size)) for rank in range(world_size)
    ]
    assert sorted(flat(flat(shares))) == list(range(rows))
    assert all(shares)


def test_too_many_processes_are_refused_with_what_to_do():
    few = sampler(LENGTHS[:20], rank=0, world_size=3)  # two batches
    with pytest.raises(ValueError, match="2 batches for 3 processes, and each needs one; make the batches smaller or"):
        list(few)
    few = sampler(LENGTHS[:2], shuffle=False, rank=0, world_size=3)
    with pytest.raises(ValueError, match="2 rows for 3 processes, and each needs one; add some or take fewer devices"):
        len(few)


def test_what_every_process_reads_whole_is_enough_for_any_number():
    sampler(LENGTHS[:1], shuffle=False, rank=0, world_size=1).check_number_of_processes(7)


def test_processes_are_those_of_the_moment_an_epoch_begins(monkeypatch):
    early = sampler(shuffle=False)  # a user's loader, from before there is a group
    assert len(list(early)) == 63
    for name, value in (("is_initialized", True), ("get_rank", 1), ("get_world_size", 2)):
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    assert len(list(early)) == len(early) == 31
    with disable_distributed_sharding():  # what the first process writes at the end is of all rows
        assert len(list(early)) == 63
    assert len(early) == 31


class Rows(Dataset[torch.Tensor]):
    """A batch is the numbers of its rows."""

    def __len__(self) -> int:
        return 50

    def __getitem__(self, rows: Sequence[int]) -> torch.Tensor:
        return torch.tensor(rows)


def loader(workers: int = 0, epoch: int = 0, **options) -> ResumableLoader:
    return ResumableLoader(
        Rows(),
        sampler=sampler(LENGTHS[:50], batch_size=4, epoch=epoch, **options),
        num_workers=workers,
        persistent_workers=workers > 0,
        multiprocessing_context="fork" if workers else None,
    )


def batches_of(source: ResumableLoader) -> list[list[int]]:
    return [batch.tolist() for batch in source]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_that_is_resumed_gives_the_rest_of_the_uninterrupted_one(workers):
    whole = batches_of(loader(epoch=2))
    assert len(whole) == 13
    for seen in [1, 5, 12] if workers == 0 else [5]:
        first = loader(workers, epoch=2)
        iterator = iter(first)
        head = [next(iterator).tolist() for _ in range(seen)]
        state = first.state_dict()
        assert state == {"epoch": 2, "batches": seen}
        del iterator
        resumed = loader(workers, epoch=2)
        resumed.load_state_dict(state)
        assert head + batches_of(resumed) == whole
        # The passes after it are whole again.
        resumed.sampler.set_epoch(3)
        assert batches_of(resumed) == batches_of(loader(epoch=3))


def test_a_state_in_a_resumed_pass_counts_from_the_start_of_the_epoch():
    whole = batches_of(loader())
    source = loader()
    source.load_state_dict({"epoch": 0, "batches": 4})
    iterator = iter(source)
    next(iterator)
    state = source.state_dict()
    assert state == {"epoch": 0, "batches": 5}
    again = loader()
    again.load_state_dict(state)
    assert batches_of(again) == whole[5:]


def test_a_state_after_the_last_batch_starts_the_next_epoch_whole():
    source = loader(epoch=1)
    batches_of(source)
    state = source.state_dict()
    assert state == {"epoch": 1, "batches": 13}
    after = loader(epoch=2)
    after.load_state_dict(state)
    assert batches_of(after) == batches_of(loader(epoch=2))


def test_a_state_of_a_cut_epoch_starts_the_next_epoch_whole():
    # With limit_train_batches Lightning leaves an epoch before its last batch.
    after = loader(epoch=2)
    after.load_state_dict({"epoch": 1, "batches": 5})
    assert batches_of(after) == batches_of(loader(epoch=2))


def test_a_pass_left_in_the_middle_does_not_shorten_the_next():
    source = loader()
    next(iter(source))
    source.sampler.set_epoch(1)
    assert batches_of(source) == batches_of(loader(epoch=1))


def test_batches_that_were_seen_are_not_built_again():
    built: list[Sequence[int]] = []

    class Watched(Rows):
        def __getitem__(self, rows: Sequence[int]) -> torch.Tensor:
            built.append(rows)
            return super().__getitem__(rows)

    source = ResumableLoader(Watched(), sampler=sampler(LENGTHS[:50], batch_size=4))
    source.load_state_dict({"epoch": 0, "batches": 11})
    assert len(batches_of(source)) == len(built) == 2
