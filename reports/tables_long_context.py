"""Generated tasks: tables of what linear-time attention looks up and what heads of pairs learn, from results files.

A cell is the test accuracy in percent, mean and sample standard deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    RUN_COLUMNS,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)

RECIPE = "long_context_esa"
LENGTHS = (64, 128, 256)
LOOKUP_PROBES = {"copy": "copy", "recall": "associative recall"}
LOOKUPS = {
    "dot": "softmax attention",
    "favor": "ESA, positive random features",
    "learned": "ESA, learned features",
    "elu": "ESA, elu + 1",
}
PAIRS = {
    "dot": "pairwise: softmax attention",
    "trilinear": "pairs: trilinear",
    "volume": "pairs: volume",
    "factorised": "pairs: factorised",
}
PAIR_LENGTH = 17

Runs = list[RunResult]
ACCURACY = metric("test accuracy", "test/accuracy", 1)


def lookups(results: Runs) -> str:
    """Return copying and associative recall by length: softmax attention, and each feature map of ESA."""
    places = {f"{label}, n = {length}": (probe, length) for probe, label in LOOKUP_PROBES.items() for length in LENGTHS}
    rows, missing = [], []
    for variant, name in LOOKUPS.items():
        found = [runs_of(results, variant, *place) for place in places.values()]
        rows.append([name, *(ACCURACY.show(runs) if runs else NOT_RUN for runs in found)])
        if not all(found):
            missing.append(variant)
    command = f"python recipes/{RECIPE}.py --probes {' '.join(LOOKUP_PROBES)} --attentions {' '.join(missing)} --resume"
    return with_commands(markdown_table(["attention", *places], rows), commands_not_run([command] if missing else []))


def pairs(results: Runs) -> str:
    """Return what one head learns of the product of two marked signs: comparing tokens, or comparing with pairs."""
    columns = (RUN_COLUMNS[0], ACCURACY, RUN_COLUMNS[2])
    rows, missing = [], []
    for variant, name in PAIRS.items():
        runs = runs_of(results, variant, "marked_product", PAIR_LENGTH)
        rows.append([name, *([column.show(runs) for column in columns] if runs else [NOT_RUN])])
        if not runs:
            missing.append(variant)
    command = f"python recipes/{RECIPE}.py --probes marked_product --attentions {' '.join(missing)} --resume"
    headings = ["one head", *(column.heading for column in columns)]
    return with_commands(markdown_table(headings, rows), commands_not_run([command] if missing else []))


def runs_of(results: Sequence[RunResult], variant: str, probe: str, length: int) -> Runs:
    """Return the seeds of an attention on a probe.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    wanted = (RECIPE, variant, f"{probe}-n{length}")
    found = [run for run in results if (run.recipe, run.variant, run.tag) == wanted]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


TABLES: Mapping[str, Callable[[Runs], str]] = {"long-context-lookups": lookups, "higher-order-pairs": pairs}
