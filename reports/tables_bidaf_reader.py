"""BiDAF: the reader that is published, how its settings were chosen, and what it loses on texts of another kind."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    Column,
    markdown_table,
    mean_and_deviation,
    metric,
    refuse_mixtures,
    refuse_repeats,
    signed,
    with_commands,
)
from ctxzoo.tasks.question_answering.data import LEFT_OUT
from reports.tables_bidaf import SEEDS, V1_MINI, bidaf_runs, group_runs

READER = (
    f"python recipes/squad_bidaf.py --dataset {V1_MINI} --variant char7 --levers context_self_attention word_features "
    "--word_vectors FILE --optimizer adamw --learning_rate 0.003 --warmup_steps 200 --decay "
    "--precision bf16-mixed --threads 1"
)
WHOLE, SMALL = "reader", "reader_small"  # names of runs
WINDOW_RECIPE, WINDOW_LABEL = "squad_sliding_window", "sliding window over words, no network"


class _Row(NamedTuple):
    """A row of the reader's table: what it is called, and what its trainings have beside `READER`."""

    label: str
    options: str
    seeds: tuple[int, ...] = SEEDS


ROWS = {
    WHOLE: _Row("all training rows", "--epochs 6"),
    "reader_wide": _Row(
        "all training rows, width 128, dropout 0.3", "--epochs 8 --hidden_size 128 --dropout 0.3", seeds=(1,)
    ),
}
# SQuADShifts' new_wiki and reddit are sources of the training rows.
ROWS |= {
    f"{WHOLE}_without_{source}": _Row(f"without the rows of `{source}`", f"--epochs 6 --left_out_source {source}")
    for source in ("reddit", "new_wiki")
}


def _setting(heading: str, name: str, unless_told: object = NOTHING) -> Column:
    def show(runs: Sequence[RunResult]) -> str:
        value = runs[0].settings.get(name)
        return str(unless_told if value is None else value)

    return Column(heading, show)


TRIAL_COLUMNS = (
    _setting("optimizer", "optimizer"),
    _setting("learning rate", "learning_rate"),
    _setting("width", "hidden_size"),
    _setting("dropout", "dropout"),
    _setting("word vectors", "word_vectors", "learned"),
    _setting("begins as", "init_from"),
    _setting("words kept", "keep_words", "all"),
    PARAMETERS_COLUMN,
    metric("validation EM", "validation/exact"),
    metric("validation F1", "validation/f1"),
    *RUN_COLUMNS,
)
READER_COLUMNS = (
    PARAMETERS_COLUMN,
    metric("validation F1", "validation/f1"),
    metric("test EM", "test/exact"),
    metric("test F1", "test/f1"),
    metric("left out EM", f"{LEFT_OUT}/exact"),
    metric("left out F1", f"{LEFT_OUT}/f1"),
    Column("left out − test, F1", lambda runs: signed(mean_and_deviation(map(_drop, runs)))),
    *RUN_COLUMNS,
)


def trials(runs: list[RunResult]) -> str:
    """Every training whose validation score helped to choose the settings, the best first."""
    groups = group_runs(bidaf_runs(runs, V1_MINI, "validation"))
    groups.sort(key=lambda group: -statistics.fmean(run.metrics["validation/f1"] for run in group.runs))
    rows = [[_model(group.runs[0]), *(column.show(group.runs) for column in TRIAL_COLUMNS)] for group in groups]
    return markdown_table(["model", *(column.heading for column in TRIAL_COLUMNS)], rows or [[NOT_RUN]])


def reader(results: list[RunResult]) -> str:
    """A baseline, and the final settings: all training rows, made small, and each source left out and scored."""
    window = [run for run in results if (run.recipe, run.dataset, run.split) == (WINDOW_RECIPE, V1_MINI, "test")]
    rows = [[WINDOW_LABEL, *(column.show(window) for column in READER_COLUMNS)] if window else [WINDOW_LABEL, NOT_RUN]]
    commands = [] if window else [f"python recipes/{WINDOW_RECIPE}.py"]
    for tag in (WHOLE, SMALL, *(tag for tag in ROWS if tag != WHOLE)):
        runs = [run for run in bidaf_runs(results, V1_MINI) if run.tag == tag]
        refuse_repeats(runs)
        refuse_mixtures(runs)
        label = _small_label(runs) if tag == SMALL else ROWS[tag].label
        rows.append([label, *(column.show(runs) for column in READER_COLUMNS)] if runs else [label, NOT_RUN])
        commands += _missing(tag, runs)
    table = markdown_table(["reader", *(column.heading for column in READER_COLUMNS)], rows)
    return with_commands(table, [f"# {NOT_RUN}", *commands] if commands else [])


def _model(run: RunResult) -> str:
    return " + ".join([run.variant, *run.settings["levers"]])


def _drop(run: RunResult) -> float | None:
    left_out = run.metrics.get(f"{LEFT_OUT}/f1")
    return None if left_out is None else left_out - run.metrics["test/f1"]


def _small_label(runs: Sequence[RunResult]) -> str:
    words = f", {runs[0].settings['keep_words']:,} words" if runs else ""
    return f"the first seed of these, half precision{words}"


def _missing(tag: str, runs: Iterable[RunResult]) -> list[str]:
    if tag == SMALL:
        made = f"python recipes/small_reader.py --checkpoint RUN/checkpoint --result FILE --name {SMALL}"
        return [] if list(runs) else [made]
    row = ROWS[tag]
    left = " ".join(str(seed) for seed in row.seeds if seed not in {run.seed for run in runs})
    return [f"{READER} {row.options} --seeds {left} --name {tag}"] if left else []


TABLES: dict[str, Callable[[list[RunResult]], str]] = {"bidaf-reader": reader}
TRIAL_TABLES: dict[str, Callable[[list[RunResult]], str]] = {"bidaf-reader-trials": trials}
