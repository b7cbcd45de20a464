"""Word vectors: what the zoo's other models gain by starting from those of attention CBOW."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxzoo.results.comparison import check_folds
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    markdown_table,
    mean_and_deviation,
    mean_difference,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports import tables_contextualizer, tables_lama

TAG = "attention_cbow"  # --name of the runs that start from these vectors
SCALED = "attention_cbow_scaled"  # of those that scale them
STD = 0.0577  # to which: that of U(-0.1, 0.1), from which the Contextualizer starts otherwise
Runs = list[RunResult]


class Use(NamedTuple):
    """A model that is trained from these vectors, and what it starts from otherwise.

    Attributes:
        label, otherwise: for the table.
        recipe, variant, dataset, tag: of the other runs.
        metric: compared.
        options: of the recipe, beside `--vectors` and `--name`.
        ours: tag of the runs that start from these vectors.
    """

    label: str
    otherwise: str
    recipe: str
    variant: str
    dataset: str
    tag: str
    metric: str
    options: str
    ours: str = TAG


def _contextualizer(heading: str, dataset: str, scale: str, options: str, ours: str) -> Use:
    return Use(
        f"Contextualizer with dropout, {heading}, accuracy{scale}",
        "U(−0.1, 0.1), 250-d",
        tables_contextualizer.SENTENCE_RECIPE,
        tables_contextualizer.LEARNED,
        dataset,
        "dropout",
        tables_contextualizer.ACCURACY,
        f"--dropout 0.5{options}",
        ours,
    )


_BIDAF_OPTIONS = "--dataset ctxzoo-data/squad_v1_mini --variant learned --epochs 8 --seeds 1"
USES = (
    Use(
        "BiDAF with learned positions, part of SQuAD 1.1, F1",
        "CBOW, 100-d, 78 M words",
        "squad_bidaf",
        "learned",
        "ctxzoo-data/squad_v1_mini",
        "",
        "test/f1",
        _BIDAF_OPTIONS,
    ),
    *(_contextualizer(heading, dataset, "", "", TAG) for heading, dataset in SENTENCE_DATASETS.items()),
    *(
        _contextualizer(heading, dataset, ", vectors scaled", f" --vectors_std {STD}", SCALED)
        for heading, dataset in SENTENCE_DATASETS.items()
    ),
    Use(
        "LAMA, Reuters, accuracy",
        "word2vec of the documents, 100-d",
        tables_lama.RECIPE,
        "lama",
        tables_lama.DATA["Reuters"][0],
        "",
        tables_lama.ACCURACY,
        "--model lama --seeds 0 1 2",
    ),
)


def uses(results: Runs) -> str:
    """A row for each model and dataset: mean and sample standard deviation over its seeds or folds."""
    headings = ["model", "starts otherwise from", "its score", "from these vectors", "difference", "runs"]
    rows, missing = [], []
    for use in USES:
        others, ours = (_runs(results, use, tag) for tag in (use.tag, use.ours))
        rows.append(
            [
                use.label,
                use.otherwise,
                *(_score(runs, use.metric) for runs in (others, ours)),
                mean_difference(ours, others, use.metric),
                str(len(ours)),
            ]
        )
        if not ours:
            option = "--word_vectors" if use.recipe == "squad_bidaf" else "--vectors"
            missing.append(
                f"python recipes/{use.recipe}.py {use.options} {option} CHECKPOINT --name {use.ours} --resume"
            )
    commands = [f"# {NOT_RUN}", *dict.fromkeys(missing)] if missing else []
    return with_commands(markdown_table(headings, rows, left=2), commands)


TABLES: dict[str, Callable[[Runs], str]] = {"word-embedding-uses": uses}


def _runs(results: Runs, use: Use, tag: str) -> Runs:
    """Seeds or folds of one score, without trials of a few batches.

    Raises:
        ValueError: one is there twice, or folds were not made alike.
    """
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == (use.recipe, use.variant, use.dataset, tag)
        and not run.settings.get("tiny")
    ]
    if any(run.fold is not None for run in found):
        check_folds(found)
    else:
        refuse_repeats(found)
        refuse_mixtures(found)
    return found


def _score(runs: Runs, metric: str) -> str:
    return mean_and_deviation([run.metrics.get(metric) for run in runs]) if runs else NOT_RUN
