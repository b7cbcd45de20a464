"""What is written alike about classifiers of texts and of words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ctxzoo.data.files import write_atomically
from ctxzoo.hub.task_card import LabelTable, Metric
from ctxzoo.models.configuration_base import ZooConfig

METRICS = {
    "accuracy": Metric("accuracy", "accuracy"),
    "macro_f1": Metric("f1", "macro F1"),
    "calibration_error": Metric("calibration_error", "expected calibration error, 15 bins", is_score=False),
    "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False),
}
SET_METRICS = {
    "micro_f1": Metric("f1", "micro F1"),
    "macro_f1": METRICS["macro_f1"],
    "exact_match": Metric("exact_match", "exact match"),
}
MOST_LABELS = 10  # of which all are shown; of more the worst
LABEL_SCORES = ("precision", "recall", "f1", "support")
CURVES = ("nll", "accuracy", "macro_f1", "calibration_error")
DRAWN = {"accuracy": "accuracy", "macro_f1": "macro F1"}


def get_label_names(config: ZooConfig) -> list[str]:
    """Return the names of a classifier's labels, in their order."""
    return [name for _, name in sorted(config.id2label.items())]


def describe_calibration(metrics: Mapping[str, float], output_name: str) -> Iterable[str]:
    """Describe how well the scores of an output ("label", "tag") are calibrated, if it was measured."""
    if "calibration_error" in metrics:
        yield (
            f"Measured: the score of a {output_name} and how often {output_name}s with such a score are right differ "
            f"by {metrics['calibration_error']:.2f} points on average."
        )


def build_label_tables(table: Mapping[str, Any], split: str) -> list[LabelTable]:
    """Return tables of the scores of each label, and of which are taken for which, for a person.

    Of more than ten labels these are the ten with the lowest F1 and the ten most frequent mistakes.

    Args:
        table: Scores of each label, as a results file holds them.
        split: Name of the split, for titles.
    """
    names, number = table["names"], len(table["names"])
    shown, title = list(range(number)), f"each label, {split}"
    if number > MOST_LABELS:
        present = [label for label in range(number) if table["support"][label]]
        shown = sorted(present, key=lambda label: table["f1"][label])[:MOST_LABELS]
        title = f"the {len(shown)} of {number} labels with the lowest F1, {split}"
    rows = [
        [
            names[label],
            *(f"{table[name][label]:.2f}" for name in LABEL_SCORES[:-1]),
            f"{table['support'][label]:,}",
        ]
        for label in shown
    ]
    tables = [LabelTable(title, [["label", "precision", "recall", "F1", "texts"], *rows])]
    if "confused" not in table or not table["confused"]:
        return tables
    if number > MOST_LABELS:
        mistakes = [[true, predicted, f"{count:,}"] for true, predicted, count in table["confused"][:MOST_LABELS]]
        title = f"most frequent mistakes, {split}"
        return [*tables, LabelTable(title, [["label", "taken for", "texts"], *mistakes])]
    return [*tables, LabelTable(f"confusion matrix, {split}", build_confusion_matrix(table))]


def build_confusion_matrix(table: Mapping[str, Any]) -> list[list[str]]:
    """Return the confusion matrix as rows of cells: a row for each true label, a column for each predicted one."""
    names = table["names"]
    counts = {(true, predicted): count for true, predicted, count in table["confused"]}
    right = [round(recall * support / 100) for recall, support in zip(table["recall"], table["support"], strict=True)]
    counts |= {(name, name): count for name, count in zip(names, right, strict=True)}
    return [
        ["label / predicted", *names],
        *([true, *(str(counts.get((true, predicted), 0)) for predicted in names)] for true in names),
    ]


def write_label_files(table: Mapping[str, Any], labels: Path, confusion: Path) -> None:
    """Write the scores of every label as CSV, and the confusion matrix where each text has one label.

    Args:
        table: Scores of each label, as a results file holds them.
        labels, confusion: Files to write.
    """
    rows = zip(table["names"], *(table[name] for name in LABEL_SCORES), strict=True)
    _write_csv(labels, [["label", *LABEL_SCORES], *rows])
    if "confused" in table:
        _write_csv(confusion, build_confusion_matrix(table))


def _write_csv(file: Path, rows: Iterable[Iterable[Any]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(
        [round(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows
    )
    write_atomically(file, buffer.getvalue().encode())
