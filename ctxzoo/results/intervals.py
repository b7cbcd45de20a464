"""Intervals of 95 % of a fraction of right answers, over test rows or over the clusters that they come in."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import stats

from ctxzoo.results.result import RunResult


def compute_score_interval(run: RunResult, metric: str, rows: int | None = None) -> tuple[float, float, str] | None:
    """Return the 95 % confidence interval of a score in percent, and the units that it is computed over.

    It is one over articles where the run keeps their right answers, else Wilson's over test rows.

    Args:
        run: Results with the score, on the split that they report.
        metric: Name of a score that counts right rows, such as accuracy or exact.
        rows: Number of rows of the split, where the results do not say it; None: unknown.

    Returns:
        Lower end, upper end, and words such as "2,189 test rows"; None where the number of rows is not known, and of
        rows of one article, which are alike.
    """
    right_of, rows_of = (run.per_example.get(f"{run.split}/articles/{name}") for name in (metric, "questions"))
    if right_of and rows_of:
        if len(rows_of) < 2:
            return None
        low, high = compute_clustered_interval(right_of, rows_of)
        return 100 * low, 100 * high, f"{len(right_of)} articles"
    percentage, total = run.metrics.get(f"{run.split}/{metric}"), run.metrics.get(f"{run.split}/total", rows)
    if percentage is None or not total:
        return None
    num_rows = int(total)
    interval = stats.binomtest(round(percentage * num_rows / 100), num_rows).proportion_ci(method="wilson")
    return 100 * float(interval.low), 100 * float(interval.high), f"{num_rows:,} {run.split} rows"


def compute_clustered_interval(right: Sequence[float], total: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of a fraction whose examples come in clusters, such as articles.

    The fraction is a ratio of two sums over clusters; the variance is that of the linearised ratio (Cochran 1977,
    section 6.3), taken as Student's t with one degree of freedom less than there are clusters.

    Args:
        right, total: Number of right cases, and of all, in each of two or more clusters.
    """
    clusters, fraction = len(total), sum(right) / sum(total)
    squares = sum((one - fraction * of) ** 2 for one, of in zip(right, total, strict=True))
    error = (clusters / (clusters - 1) * squares) ** 0.5 / sum(total)
    reach = float(stats.t.ppf(0.975, clusters - 1)) * error
    return fraction - reach, fraction + reach
