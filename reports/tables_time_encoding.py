"""Next event: tables of encodings of time and of what is to beat, made from results files.

A cell is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    best_epoch_column,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    trial_rows,
    with_commands,
)
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS

RECIPE = "badges_lste"
DATASET = HISTORY_DATASETS["badges"]
SEEDS = 3  # that the table asks for
RECALL, RANK = "recall_at_1", "mrr_at_20"
FLOORS = {"pop": "POP: what is frequent", "markov": "Markov: what follows the last event"}
ENCODINGS = {
    "none": "no times, no positions",
    "positional": "positions alone",
    "bochner": "Bochner, tied",
    "mercer": "Mercer",
    "time2vec": "time2vec",
    "lste": "LSTE",
    "lste_behaviour": "LSTE with behaviour",
}
WITHOUT_TIMES = ("none", "positional")
OTHERS = ("bochner", "mercer", "time2vec")
OURS = ("lste", "lste_behaviour")
COMPARISONS = (*product(OURS, (*WITHOUT_TIMES, *OTHERS)), *product(OTHERS, WITHOUT_TIMES))
SETTINGS = (
    "--epochs 40 --patience 8 --learning_rate 0.005 --num_layers 2 --hidden_size 64 --num_heads 2 --time_combine add "
    "--ema_decay 0.998"
)

Runs = list[RunResult]
COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation recall@1", f"validation/{RECALL}"),
    metric("test recall@1", f"test/{RECALL}"),
    metric("test MRR@20", f"test/{RANK}"),
    RUN_COLUMNS[1],
    PARAMETERS_COLUMN,
)
TRIAL_COLUMNS = (
    metric("recall@1", f"validation/{RECALL}"),
    metric("MRR@20", f"validation/{RANK}"),
    metric("nats", "validation/nll", 3),
    best_epoch_column(RECALL, higher=True),
)


def badges(results: Runs) -> str:
    """Return every encoding on badges, above them what is to beat, below them the differences between them."""
    rows = []
    for floor, label in FLOORS.items():
        runs = runs_of(results, floor)
        rows.append([label, *([NOTHING, NOTHING, *_scores(runs)] if runs else [NOT_RUN])])
    missing = []
    for encoding, label in ENCODINGS.items():
        runs = runs_of(results, encoding)
        rows.append([label, *([column.show(runs) for column in COLUMNS] if runs else [NOT_RUN])])
        if len(runs) < SEEDS:
            missing.append(encoding)
    for ours, base in COMPARISONS:
        first, second = (runs_of(results, one) for one in (ours, base))
        if first and second:
            label = f"{ENCODINGS[ours]} − {ENCODINGS[base]} (p over seeds)"
            rows.append([label, NOTHING, NOTHING, difference(first, second, RECALL), difference(first, second, RANK)])
    commands = []
    if missing:
        commands.append(
            f"python recipes/{RECIPE}.py --encodings {' '.join(missing)} --seeds {' '.join(map(str, range(SEEDS)))} "
            f"{SETTINGS} --resume"
        )
    headings = ["model", *(column.heading for column in COLUMNS)]
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def runs_of(results: Sequence[RunResult], variant: str) -> Runs:
    """Return the seeds of an encoding or floor on badges, without trials of a few batches.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    wanted = (RECIPE, variant, DATASET, "")
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == wanted and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def difference(ours: Runs, base: Runs, score: str) -> str:
    """Write the difference of a test score, in percent, with its p over seeds."""
    return seeds_cell(ours, base, f"test/{score}")


def _scores(runs: Runs) -> list[str]:
    return [f"{runs[0].metrics[f'test/{score}']:.2f}" for score in (RECALL, RANK)]


def trials(results: Runs) -> str:
    """Return the trials by which settings were chosen: validation scores, and the settings that tell them apart."""
    found = [run for run in results if (run.recipe, run.dataset) == (RECIPE, DATASET)]
    order = list(ENCODINGS)
    found.sort(key=lambda run: (order.index(run.variant), -run.metrics[f"validation/{RECALL}"]))
    rows = [[ENCODINGS[run.variant], *row] for run, row in zip(found, trial_rows(found, TRIAL_COLUMNS), strict=True)]
    return markdown_table(["model", "settings", *(column.heading for column in TRIAL_COLUMNS)], rows, left=2)


TRIAL_TABLES: dict[str, Callable[[Runs], str]] = {"time-encodings-trials": trials}
TABLES: dict[str, Callable[[Runs], str]] = {"time-encodings-badges": badges}
