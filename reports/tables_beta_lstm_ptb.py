"""The Beta-LSTM as a language model of the Penn Treebank: its table, made from results files, beside models of counts.

A cell of the table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    Column,
    best_epoch_column,
    changed_settings,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)
from ctxzoo.tasks.language_modelling.baselines import FLOORS
from ctxzoo.tasks.language_modelling.experiments import CELLS
from reports.tables_beta_lstm import shown

RECIPE, FLOORS_RECIPE = "ptb_beta_lstm", "ptb_floors"
DATASET = "ctxzoo-data/ptb_text"
PERPLEXITY, NLL = "test/perplexity", "test/nll"
BASE = "lstm"  # with which the others are compared
COMPARED = (BASE, "coupled", "g2", "beta", "bibeta5")  # that the table needs
FLOOR_LABELS = {
    "unigram": "how often each word occurs",
    "bigram": "counts of two words, modified Kneser-Ney",
    "kneser_ney_5": "counts of five words, modified Kneser-Ney",
}

Runs = list[RunResult]

COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation", "validation/perplexity"),
    metric("test", PERPLEXITY),
    RUN_COLUMNS[1],
    best_epoch_column("nll", higher=False),
    Column("units", lambda runs: str(runs[0].settings["hidden_size"])),
    PARAMETERS_COLUMN,
    RUN_COLUMNS[2],
)


def penn_treebank(results: Runs) -> str:
    """Return the perplexity of the counts, of every cell, and of runs under a name, with differences to the lstm."""
    headings = ["model", *(column.heading for column in COLUMNS), f"nats of a token − `{BASE}` (p over seeds)"]
    rows, missing = [], []
    for floor in FLOORS:
        runs = _runs_of(results, floor, recipe=FLOORS_RECIPE)
        found = f"{runs[0].metrics[PERPLEXITY]:.2f}" if runs else NOT_RUN
        rows.append([FLOOR_LABELS[floor], NOTHING, NOTHING, found])
    for cell in CELLS:
        runs = _runs_of(results, cell)
        if runs or cell in COMPARED:
            rows.append([shown(cell), *_cells(runs, _runs_of(results, BASE), cell)])
        if not runs and cell in COMPARED:
            missing.append(cell)
    for name in sorted({run.tag for run in results if (run.recipe, run.dataset) == (RECIPE, DATASET) and run.tag}):
        for cell in CELLS:
            runs, plain = _runs_of(results, cell, name), _runs_of(results, cell)
            if runs:
                changes = changed_settings({"": (runs[0], plain[0])}) if plain else ""
                label = f"{shown(cell)}, {name}{changes}"
                rows.append([label, *_cells(runs, _runs_of(results, BASE, name), cell)])
    commands = [f"python recipes/{RECIPE}.py --cells {' '.join(missing)} --resume"] if missing else []
    if not all(_runs_of(results, floor, recipe=FLOORS_RECIPE) for floor in FLOORS):
        commands.append(f"python recipes/{FLOORS_RECIPE}.py --resume")
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def _runs_of(results: Runs, variant: str, name: str = "", recipe: str = RECIPE) -> Runs:
    """Return the seeds of one model under a name, without trials of a few batches.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    wanted = (recipe, variant, DATASET, name)
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == wanted and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def _cells(runs: Runs, base: Runs, cell: str) -> list[str]:
    """Return the cells of a row behind its label."""
    if not runs:
        return [NOT_RUN]
    return [*(column.show(runs) for column in COLUMNS), NOTHING if cell == BASE else _difference(runs, base)]


def _difference(ours: Runs, base: Runs) -> str:
    """Write the difference of the nats of a token with its p over seeds."""
    return seeds_cell(ours, base, NLL, digits=3)


TABLES: dict[str, Callable[[Runs], str]] = {"beta-lstm-ptb": penn_treebank}
