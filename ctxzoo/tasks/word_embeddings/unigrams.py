"""What word2vec does with the counts of words: it thins frequent ones and draws noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

NOISE_POWER = 0.75


def compute_keep_probabilities(counts: npt.NDArray[np.int64], threshold: float) -> npt.NDArray[np.float64]:
    """Return the probability (V,) that subsampling keeps a word: min(1, sqrt(q) + q), q = threshold * total / count.

    Args:
        counts: (V,) number of occurrences of each of the V words of the vocabulary.
        threshold: Fraction of the text above which frequent words are randomly dropped; 0: every word is kept.

    Raises:
        ValueError: a negative threshold.
    """
    if threshold < 0:
        raise ValueError(f"subsampling threshold is {threshold}; expected 0 (keep all words) or more, such as 1e-3")
    if threshold == 0:
        return np.ones(len(counts))
    quotient = threshold * counts.sum() / np.maximum(counts, 1)
    kept: npt.NDArray[np.float64] = np.minimum(1.0, np.sqrt(quotient) + quotient)
    return kept


def compute_noise_probabilities(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the probability (V,) of drawing each word as noise, proportional to count^0.75."""
    weights = counts.astype(np.float64) ** NOISE_POWER
    normalised: npt.NDArray[np.float64] = weights / weights.sum()
    return normalised


def build_alias_tables(probabilities: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Build tables to draw words with given probabilities in constant time (alias method, Walker 1977; Vose 1991).

    Draw an index uniformly and a number r uniformly from 0..2^32 - 1: the index itself where r < limits[index], else
    alternatives[index].

    Returns:
        limits (V,) in units of 2^-32, and alternatives (V,).

    Raises:
        ValueError: fewer than two words: nothing is noise then.
    """
    if len(probabilities) < 2:
        raise ValueError(f"the vocabulary has {len(probabilities)} word; noise words need at least 2")
    scaled = probabilities * len(probabilities)
    alternatives = np.arange(len(probabilities), dtype=np.int32)
    small = np.flatnonzero(scaled < 1).tolist()
    large = np.flatnonzero(scaled >= 1).tolist()
    while small and large:
        less, more = small.pop(), large[-1]
        alternatives[less] = more
        scaled[more] -= 1 - scaled[less]
        if scaled[more] < 1:
            small.append(large.pop())
    # The limits that are left are 1 but for rounding; the other word of each is itself.
    limits = np.minimum(np.round(scaled * 2.0**32), 2.0**32 - 1).astype(np.uint32)
    return limits, alternatives


def draw_from_alias_tables(
    limits: npt.NDArray[np.uint32],
    alternatives: npt.NDArray[np.int32],
    shape: tuple[int, ...],
    generator: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Draw words by the tables of `build_alias_tables`."""
    words = generator.integers(len(limits), size=shape)
    chosen = generator.integers(2**32, size=shape, dtype=np.uint32) < limits[words]
    return np.where(chosen, words, alternatives[words])
