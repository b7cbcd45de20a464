"""Tables of what linear-time attention looks up and reads, and what heads of pairs learn, from results files.

A cell is the test accuracy in percent, mean and sample standard deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    best_epoch_column,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)

RECIPE, DOCUMENTS_RECIPE = "long_context_esa", "document_context_encoder"
DOCUMENTS, DOCUMENTS_TAG = "stanfordnlp/imdb", "blocks"
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
DOCUMENT_COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation accuracy", "validation/accuracy"),
    metric("test accuracy", "test/accuracy"),
    best_epoch_column("accuracy", higher=True),
    PARAMETERS_COLUMN,
)


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
    return _of_place(results, RECIPE, variant, f"{probe}-n{length}")


def _of_place(results: Sequence[RunResult], recipe: str, variant: str, tag: str) -> Runs:
    found = [run for run in results if (run.recipe, run.variant, run.tag) == (recipe, variant, tag)]
    refuse_repeats(found)
    refuse_mixtures([_of_any_seed(run) for run in found])
    return found


def _of_any_seed(run: RunResult) -> RunResult:
    """Return a run whose data, where they are drawn with the run's own seed, are called alike for all seeds."""
    drawn = run.data["fingerprint"].removesuffix(f", drawn with seed {run.seed}")
    return replace(run, data={**run.data, "fingerprint": drawn})


def documents(results: Runs) -> str:
    """Return the accuracy on whole reviews: softmax attention, and each feature map of ESA."""
    reviews = [run for run in results if run.dataset == DOCUMENTS]
    rows, missing = [], []
    for variant, name in LOOKUPS.items():
        runs = _of_place(reviews, DOCUMENTS_RECIPE, variant, DOCUMENTS_TAG)
        rows.append([name, *([column.show(runs) for column in DOCUMENT_COLUMNS] if runs else [NOT_RUN])])
        if not runs:
            missing.append(variant)
    command = f"python recipes/{DOCUMENTS_RECIPE}.py --attentions {' '.join(missing)} --resume"
    headings = ["attention", *(column.heading for column in DOCUMENT_COLUMNS)]
    return with_commands(markdown_table(headings, rows), commands_not_run([command] if missing else []))


TABLES: Mapping[str, Callable[[Runs], str]] = {
    "long-context-lookups": lookups,
    "long-context-documents": documents,
    "higher-order-pairs": pairs,
}
