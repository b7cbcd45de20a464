"""BiDAF: what positions, their dropout and the literal self-attention do, each against the run that differs in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    markdown_table,
    mean_and_deviation,
    refuse_mixtures,
    refuse_repeats,
    signed,
    with_commands,
)
from reports.tables_bidaf import (
    MORE,
    OF_SEEDS,
    PRESENT_START,
    SEVERAL_SEEDS,
    V1_MINI,
    bidaf_runs,
    is_plain,
    missing_seeds,
    on_all_rows,
)

ADADELTA, ADAMW = "adadelta", "adamw"
VECTORS = "wiki2015_cbow.100d"
OF_ADAMW = "--epochs 4 --optimizer adamw --learning_rate 0.0015 --warmup_steps 200 --decay --threads 1"
HEADINGS = ("variant", "optimizer", "compared with", "test EM", "test F1", "validation F1", "difference F1", "seeds")


@dataclass(frozen=True)
class Control:
    """A row: runs of a variant with one optimizer, and the variant that they are compared with at equal seeds."""

    variant: str
    optimizer: str
    base: str | None = None


ROWS = (
    Control("baseline", ADADELTA),
    Control("second_dropout", ADADELTA, "baseline"),
    Control("sinusoidal", ADADELTA, "second_dropout"),
    Control("learned", ADADELTA, "second_dropout"),
    Control("learned_char7", ADADELTA, "baseline"),
    Control("learned_attention_residual", ADADELTA, "learned"),
    Control("learned", ADAMW),
    Control("learned_attention", ADAMW, "learned"),
)


def controls(results: list[RunResult]) -> str:
    """Each control with its differences at equal seeds; all of one start of w_cq and one file of word vectors."""
    runs = [
        run
        for run in bidaf_runs(results, V1_MINI)
        if is_plain(run)
        and on_all_rows(run)
        and run.settings["product_start"] == PRESENT_START
        and run.settings.get("word_vectors") == VECTORS
    ]
    members = {(row.variant, row.optimizer): _runs_of(runs, row) for row in ROWS}
    lines, commands = [], []
    for row in ROWS:
        ours = members[row.variant, row.optimizer]
        label = [row.variant, row.optimizer, row.base or NOTHING]
        scores = [_scores(ours, name) for name in ("test/exact", "test/f1", "validation/f1")]
        base = members[row.base, row.optimizer] if row.base else []
        lines.append([*label, *scores, _gain(ours, base), str(len(ours))] if ours else [*label, NOT_RUN])
        commands += missing_seeds(ours, row.variant, _more(row))
    return with_commands(markdown_table(HEADINGS, lines, left=3), [f"# {NOT_RUN}", *commands] if commands else [])


def _runs_of(runs: list[RunResult], row: Control) -> list[RunResult]:
    found = [run for run in runs if (run.variant, run.settings.get("optimizer")) == (row.variant, row.optimizer)]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def _scores(runs: list[RunResult], name: str) -> str:
    return mean_and_deviation(run.metrics.get(name) for run in runs)


def _gain(ours: list[RunResult], base: list[RunResult]) -> str:
    """Difference of F1 between equal seeds, with their number."""
    plain = {run.seed: run.metrics["test/f1"] for run in base}
    gains = [run.metrics["test/f1"] - plain[run.seed] for run in ours if run.seed in plain]
    return f"{signed(mean_and_deviation(gains))} ({len(gains)})" if gains else NOTHING


def _more(row: Control) -> str:
    if row.optimizer == ADAMW:
        return OF_ADAMW
    return OF_SEEDS if row.variant in SEVERAL_SEEDS else f"{MORE[V1_MINI]} --threads 1"


TABLES: dict[str, Callable[[list[RunResult]], str]] = {"bidaf-controls": controls}
