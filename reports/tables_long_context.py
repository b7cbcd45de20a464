"""Tables of what linear-time attention looks up and reads, and what heads of pairs learn, from results files.

A cell is the test accuracy in percent, mean and sample standard deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import best_epoch_column
from reports import results_table
from reports.results_table import MINUTES, PARAMETERS, SEEDS, Row, Runs, Table, made, score

RECIPE, DOCUMENTS_RECIPE = "long_context_esa", "document_context_encoder"
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


def _of_any_seed(run: RunResult) -> RunResult:
    """Return a run whose data, where they are drawn with the run's own seed, are called alike for all seeds."""
    drawn = run.data["fingerprint"].removesuffix(f", drawn with seed {run.seed}")
    return replace(run, data={**run.data, "fingerprint": drawn})


def _rows(labels: dict[str, str], recipe: str, options: str = "") -> list[Row]:
    command = f"python recipes/{recipe}.py{options} --attentions {{missing}} --resume"
    return [Row(label, {"variant": name}, command=command) for name, label in labels.items()]


lookups = Table(
    ("attention",),
    [
        score(f"{label}, n = {length}", "test/accuracy", 1, where={"tag": f"{probe}-n{length}"})
        for probe, label in LOOKUP_PROBES.items()
        for length in LENGTHS
    ],
    _rows(LOOKUPS, RECIPE, f" --probes {' '.join(LOOKUP_PROBES)}"),
    where={"recipe": RECIPE},
    alike=_of_any_seed,
)
pairs = Table(
    ("one head",),
    (SEEDS, score("test accuracy", "test/accuracy", 1), MINUTES),
    _rows(PAIRS, RECIPE, " --probes marked_product"),
    where={"recipe": RECIPE, "tag": "marked_product-n17"},
    alike=_of_any_seed,
)
documents = Table(
    ("attention",),
    (
        SEEDS,
        score("validation accuracy", "validation/accuracy"),
        score("test accuracy", "test/accuracy"),
        made(best_epoch_column("accuracy", higher=True)),
        PARAMETERS,
    ),
    _rows(LOOKUPS, DOCUMENTS_RECIPE),
    where={"recipe": DOCUMENTS_RECIPE, "dataset": "stanfordnlp/imdb", "tag": "blocks"},
)


def runs_of(results: Sequence[RunResult], variant: str, probe: str, length: int) -> Runs:
    """Return the seeds of an attention on a probe; raises ValueError as `results_table.runs_of` does."""
    where = {"recipe": RECIPE, "variant": variant, "tag": f"{probe}-n{length}"}
    return results_table.runs_of(map(_of_any_seed, results), where)


TABLES: dict[str, Callable[..., str]] = {
    "long-context-lookups": lookups,
    "long-context-documents": documents,
    "higher-order-pairs": pairs,
}
