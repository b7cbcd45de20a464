"""Word vectors: the table of sentiment from several means of a sentence's words."""

from __future__ import annotations

from collections.abc import Callable

from ctxzoo.results.table_parts import markdown_table
from reports.tables_word_embedding import MODELS, SEEDS, Runs, mean_of, runs_of, with_evaluation
from reports.tables_word_embedding_studies import STUDIES, Study

TASK = "sentiment_means"
CONTROL = Study("attention_cbow", "uniform")
# Names of the evaluation's means, and what they are called here.
MEANS = {"plain": "as they are", "unit": "length 1", "weighted": "weighted", "unit_weighted": "length 1, weighted"}


def sentiment_means(results: Runs) -> str:
    """Accuracy for each mean, a row for each model of the main tables and for the control."""
    labels = {**{Study(name, ""): label for name, label in MODELS.items()}, CONTROL: STUDIES[CONTROL]}
    rows, incomplete = [], False
    for study, label in labels.items():
        runs = runs_of(results, study.architecture, TASK, name=study.name)
        rows.append([label, *(mean_of(runs, f"test/{name}/accuracy") for name in MEANS), str(len(runs))])
        incomplete |= len(runs) < SEEDS
    return with_evaluation(markdown_table(["model", *MEANS.values(), "trainings"], rows), incomplete)


TABLES: dict[str, Callable[[Runs], str]] = {"word-embedding-sentiment": sentiment_means}
