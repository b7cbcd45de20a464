"""The BiLSTM tagger on its corpora: its table, made from results files.

A row is a corpus, its column of tags, and the word vectors that the training began with; a cell the mean and sample
standard deviation over seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)

RECIPE = "pos_bilstm_tagger"
LABELS = {"random_vectors": "drawn"}  # of the variants; the others are named after their file

COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation accuracy", "validation/accuracy"),
    metric("test accuracy", "test/accuracy"),
    metric("test macro F1", "test/macro_f1"),
    RUN_COLUMNS[1],
    PARAMETERS_COLUMN,
    RUN_COLUMNS[2],
)


def taggers(results: list[RunResult]) -> str:
    """Return a row for each corpus, tags and word vectors that were trained, without trials of a few batches."""
    rows: dict[tuple[str, str, str], list[RunResult]] = defaultdict(list)
    for run in results:
        if run.recipe == RECIPE and not run.settings.get("tiny"):
            rows[run.dataset, run.tag, LABELS.get(run.variant, run.variant)].append(run)
    body = []
    for (dataset, tag, vectors), runs in sorted(rows.items()):
        refuse_repeats(runs)
        refuse_mixtures(runs)
        body.append([f"`{dataset}`", tag, vectors, *(column.show(runs) for column in COLUMNS)])
    headings = ["corpus", "tags", "word vectors", *(column.heading for column in COLUMNS)]
    command = f"python recipes/{RECIPE}.py --dataset ud_english_ewt --tags upos --vectors none --resume"
    commands = [] if body else [command]
    return with_commands(markdown_table(headings, body, left=3), commands_not_run(commands))


TABLES: dict[str, Callable[[list[RunResult]], str]] = {"bilstm-tagger": taggers}
