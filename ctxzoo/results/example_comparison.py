"""Two models compared over the examples of a split, by what their results files keep of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ctxzoo.results.comparison import PairedTest
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING

RESAMPLES = 9_999  # of the places; with few examples all of them are taken


def are_comparable_by_example(first: Sequence[RunResult], second: Sequence[RunResult], total: str, size: str) -> bool:
    """Return whether two models were trained with the same seeds, one or more, and keep the same examples' numbers.

    Args:
        first, second: a run for each seed.
        total, size: keys of `RunResult.per_example`, see `compare_examples`.
    """
    runs = [*first, *second]
    if not first or any(name not in run.per_example for run in runs for name in (total, size)):
        return False
    seeds = [[(run.seed, run.fold) for run in model] for model in (first, second)]
    data = {(run.dataset, run.data["fingerprint"], tuple(run.per_example[size])) for run in runs}
    whole = all(len(run.per_example[total]) == len(run.per_example[size]) > 1 for run in runs)
    return sorted(seeds[0], key=str) == sorted(seeds[1], key=str) and len(data) == 1 and whole


def compare_examples(first: Sequence[RunResult], second: Sequence[RunResult], total: str, size: str) -> PairedTest:
    """Return the paired permutation test of two models over the examples of a split.

    What a model gets on an example is the mean over its seeds; the two numbers of an example change places at random
    (Fisher 1935), which under the null hypothesis changes nothing. It tells whether these trained models differ on
    other examples of the kind, not whether other seeds would give the same.

    Args:
        first, second: a run for each seed; see `are_comparable_by_example`.
        total: key of `RunResult.per_example`, of each example the sum over its parts, such as nats over steps.
        size: key of the number of these parts.

    Returns:
        The difference of the sums over all examples divided by the number of all parts, and its p.

    Raises:
        ValueError: the runs do not compare.
    """
    if not are_comparable_by_example(first, second, total, size):
        raise ValueError(
            f"{first[0].variant if first else 'nothing'} and {second[0].variant if second else 'nothing'} do not "
            f"compare: expected runs with the same seeds on the same data that keep {total} and {size} of two "
            "examples or more"
        )
    ours, theirs = (_mean_over_seeds(runs, total) for runs in (first, second))
    found = stats.permutation_test(
        (ours, theirs),
        lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=1000,
        random_state=np.random.default_rng(0),
    )
    parts = sum(first[0].per_example[size])
    return PairedTest(float((ours - theirs).sum() / parts), float(found.pvalue))


def common_seeds_cell(
    first: Sequence[RunResult], second: Sequence[RunResult], total: str, size: str, unit: float = 1.0, digits: int = 2
) -> str:
    """Write ``-0.20 (p = 0.031)`` over the seeds that both models have, a dash where the two are not comparable.

    Args:
        first, second, total, size: see `compare_examples`.
        unit: by which the difference is multiplied; 100: percent of a fraction.
        digits: of the difference, behind the point.
    """
    common = {run.seed for run in first} & {run.seed for run in second}
    ours, theirs = ([run for run in runs if run.seed in common] for runs in (first, second))
    if not are_comparable_by_example(ours, theirs, total, size):
        return NOTHING
    found = compare_examples(ours, theirs, total, size)
    return PairedTest(unit * found.difference, found.p).cell(digits)


def _mean_over_seeds(runs: Sequence[RunResult], name: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.mean([run.per_example[name] for run in runs], axis=0)
    return found
