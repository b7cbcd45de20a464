"""Sequences packed side by side: each token once, in an order in which a step continues the one before."""

from __future__ import annotations

import numpy as np
import pytest

from ctxzoo.tasks.word_embeddings.packed_sequences import pack_sequences


@pytest.mark.parametrize("most_tokens", [1, 7, 1000])
def test_every_token_follows_the_one_before_it(most_tokens: int) -> None:
    lengths = [3, 0, 5, 1, 3, 0, 2, 5]
    begins = np.cumsum(lengths) - lengths
    sequence_of = np.repeat(np.arange(len(lengths)), lengths)
    packs = list(pack_sequences(lengths, most_tokens))
    assert sorted(np.concatenate([pack.positions for pack in packs]).tolist()) == list(range(sum(lengths)))
    for pack in packs:
        for number, step in enumerate(pack.steps):
            positions = pack.positions[step]
            assert (positions - begins[sequence_of[positions]] == number).all()
            if number:
                before = pack.positions[pack.steps[number - 1]]
                assert (positions == before[: len(positions)] + 1).all()
    assert all(len(pack.positions) <= most_tokens or len(pack.steps) == len(pack.positions) for pack in packs)


def test_nothing_gives_no_pack() -> None:
    assert list(pack_sequences([])) == list(pack_sequences([0, 0])) == []
