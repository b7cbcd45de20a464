"""Thinning of frequent words and noise words against word2vec's formulas."""

from __future__ import annotations

import numpy as np
import pytest

from ctxzoo.tasks.word_embeddings.unigrams import (
    build_alias_tables,
    compute_keep_probabilities,
    compute_noise_probabilities,
)

COUNTS = np.array([900, 60, 30, 9, 1])


def test_words_are_kept_as_word2vec_keeps_them() -> None:
    share = 1e-2 * 1000 / COUNTS
    expected = [min(1.0, q**0.5 + q) for q in share]
    assert compute_keep_probabilities(COUNTS, 1e-2) == pytest.approx(expected)
    assert expected[0] < 0.2
    assert expected[-1] == 1
    assert (compute_keep_probabilities(COUNTS, 0) == 1).all()


def test_noise_is_drawn_by_counts_to_the_three_quarters() -> None:
    weights = [count**0.75 for count in COUNTS]
    assert compute_noise_probabilities(COUNTS) == pytest.approx([weight / sum(weights) for weight in weights])


@pytest.mark.parametrize("counts", [COUNTS, np.ones(7, int), np.arange(1, 400)])
def test_alias_tables_give_back_the_probabilities(counts: np.ndarray) -> None:
    wanted = compute_noise_probabilities(counts)
    limits, others = build_alias_tables(wanted)
    given = np.zeros(len(counts))
    for place, (limit, other) in enumerate(zip(limits, others, strict=True)):
        given[place] += limit / 2**32 / len(counts)
        given[other] += (1 - limit / 2**32) / len(counts)
    assert given == pytest.approx(wanted, abs=1e-8)


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match=r"threshold is -0\.1"):
        compute_keep_probabilities(COUNTS, -0.1)
    with pytest.raises(ValueError, match="1 word; noise words need at least 2"):
        build_alias_tables(np.ones(1))
