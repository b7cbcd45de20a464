"""The BiLSTM tagger on its corpora: its table, made from results files.

A row is a corpus, its column of tags, and the word vectors that the training began with; a cell the mean and sample
standard deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reports.results_table import EPOCHS, MINUTES, PARAMETERS, SEEDS, Line, Row, Runs, Table, score, select

RECIPE = "pos_bilstm_tagger"
LABELS = {"random_vectors": "drawn"}  # of the variants; the others are named after their file


def _rows(results: Runs) -> Iterable[Line]:
    rows = {(run.dataset, run.tag, run.variant) for run in select(results, {"recipe": RECIPE})}
    for dataset, tag, variant in sorted(rows, key=lambda row: (*row[:2], LABELS.get(row[2], row[2]))):
        label = f"`{dataset}`", tag, LABELS.get(variant, variant)
        yield Row(label, {"dataset": dataset, "tag": tag, "variant": variant})
    if not rows:
        command = f"python recipes/{RECIPE}.py --dataset ud_english_ewt --tags upos --vectors none --resume"
        yield Row(("", "", ""), [], command=command, optional=True)


taggers = Table(
    ("corpus", "tags", "word vectors"),
    (
        SEEDS,
        score("validation accuracy", "validation/accuracy"),
        score("test accuracy", "test/accuracy"),
        score("test macro F1", "test/macro_f1"),
        EPOCHS,
        PARAMETERS,
        MINUTES,
    ),
    _rows,
    where={"recipe": RECIPE},
)

TABLES: dict[str, Callable[..., str]] = {"bilstm-tagger": taggers}
