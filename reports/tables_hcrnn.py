"""Session recommendation: tables of HCRNN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over the sessions of the
test split, with the seeds that both models have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxzoo.results.example_comparison import common_seeds_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    best_epoch_column,
    changed_settings,
    commands_not_run,
    markdown_table,
    mean_and_deviation,
    metric,
    refuse_mixtures,
    refuse_repeats,
    seconds_column,
    with_commands,
)
from ctxzoo.tasks.session_recommendation.data import SESSION_DATASETS
from ctxzoo.tasks.session_recommendation.floors import FLOORS
from ctxzoo.tasks.session_recommendation.run import VARIANTS

RECIPES = {"hcrnn": "citeulike_hcrnn", "session_baseline": "session_baselines"}  # by architecture
FLOORS_RECIPE = "session_floors"
SETS = {
    "CiteULike": "citeulike",
    "MovieLens 100K": "movielens_100k",
    "MovieLens-1M (part)": "movielens_1m",
    "LastFM (part)": "lastfm",
}
CITEULIKE = SETS["CiteULike"]
SEEDS = 3  # that a row of CiteULike needs; the other sets need one
FOREMOST = "hcrnn3_bi"  # which is compared with the models beside it
RECALL, RANK = "recall_at_20", "mrr_at_20"
FLOOR_LABELS = {
    "pop": "POP: what is popular",
    "session_pop": "S-POP: what the session had",
    "item_knn": "item-kNN: what stands beside the last item",
    "markov": "Markov: what follows the last item",
}
MODEL_LABELS = {
    "gru4rec": "GRU4REC",
    "narm": "NARM",
    "stamp": "STAMP",
    "hcrnn1": "HCRNN-1",
    "hcrnn2": "HCRNN-2",
    "hcrnn3": "HCRNN-3",
    "hcrnn3_bi": "HCRNN-3 + Bi",
}
MODELS = {model: of for of in ("session_baseline", "hcrnn") for model in VARIANTS[of]}  # to the architecture
# Runs of ours outside this package, one seed, ended by hand while still rising: validation and test Recall@20 and
# MRR@20, and the epochs.
REFERENCE = {
    "NARM: the authors' graph": (23.8, 24.8, 6.4, 22),
    "HCRNN-3 + Bi: the authors' equations, one prefix after the other": (25.2, 26.6, 8.3, 28),
}

Runs = list[RunResult]


def citeulike(results: Runs) -> str:
    """Return every model on CiteULike: scores, length and cost of the training, above them what is to beat."""
    rows = [_floor_row(results, floor, label) for floor, label in FLOOR_LABELS.items()]
    missing: dict[str, list[str]] = {}
    for model, architecture in MODELS.items():
        runs = runs_of(results, model, CITEULIKE)
        rows.append([MODEL_LABELS[model], *_cells(runs)])
        if runs and len(runs) < SEEDS:
            rows[-1][1] = f"{len(runs)} of {SEEDS}"
        if len(runs) < SEEDS:
            missing.setdefault(RECIPES[architecture], []).append(model)
        for name in _names(results, model):
            named = runs_of(results, model, CITEULIKE, name)
            changes = changed_settings({"": (named[0], runs[0])}) if runs else ""
            rows.append([f"{MODEL_LABELS[model]}, {name}{changes}", *_cells(named)])
    for label, (validation, recall, rank, epochs) in REFERENCE.items():
        rows.append([f"{label}; in another loop", "1", f"{validation}", f"{recall}", f"{rank}", str(epochs)])
    for model in MODELS:
        if model != FOREMOST:
            ours, theirs = (runs_of(results, one, CITEULIKE) for one in (FOREMOST, model))
            label = f"{MODEL_LABELS[FOREMOST]} − {MODEL_LABELS[model]} (p over sessions)"
            rows.append([label, NOTHING, NOTHING, difference(ours, theirs, RECALL), difference(ours, theirs, RANK)])
    seeds = " ".join(map(str, range(SEEDS)))
    commands = [
        f"python recipes/{recipe}.py --models {' '.join(those)} --seeds {seeds} --resume"
        for recipe, those in missing.items()
    ]
    if any(row[1] == NOT_RUN for row in rows[: len(FLOOR_LABELS)]):
        commands.insert(0, f"python recipes/{FLOORS_RECIPE}.py --resume")
    headings = ["model", *(column.heading for column in COLUMNS)]
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def sets(results: Runs) -> str:
    """Return test Recall@20 / MRR@20 of every model on every set."""
    rows = [
        [label, *(_both(runs_of(results, floor, name)) for name in SETS.values())]
        for floor, label in FLOOR_LABELS.items()
    ]
    commands = []
    for model in MODELS:
        rows.append([MODEL_LABELS[model], *(_both(runs_of(results, model, name)) for name in SETS.values())])
    for name in SETS.values():
        for architecture, recipe in RECIPES.items():
            those = [model for model, of in MODELS.items() if of == architecture and not runs_of(results, model, name)]
            if those and name != CITEULIKE:
                commands.append(f"python recipes/{recipe}.py --dataset {name} --models {' '.join(those)} --resume")
    return with_commands(markdown_table(["model", *SETS], rows), commands_not_run(commands))


def runs_of(results: Sequence[RunResult], model: str, dataset: str, name: str = "") -> Runs:
    """Return the seeds of a model on a set, without trials of a few batches.

    Args:
        results: of all recipes.
        model: one of `MODELS`, or of `FLOORS`.
        dataset: one of `SETS`.
        name: what the runs were called beside.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    recipe = FLOORS_RECIPE if model in FLOORS else RECIPES[MODELS[model]]
    wanted = (recipe, model, SESSION_DATASETS[dataset], name)
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == wanted and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def difference(ours: Runs, base: Runs, score: str) -> str:
    """Write the difference of a test score, in percent, with its p over sessions, over the seeds that both have."""
    return common_seeds_cell(ours, base, f"test/{score}", "test/predictions", 100)


COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation Recall@20", f"validation/{RECALL}"),
    metric("test Recall@20", f"test/{RECALL}"),
    metric("test MRR@20", f"test/{RANK}"),
    RUN_COLUMNS[1],
    best_epoch_column(RECALL, higher=True),
    PARAMETERS_COLUMN,
    seconds_column(),
)


def _cells(runs: Runs) -> list[str]:
    return [column.show(runs) for column in COLUMNS] if runs else [NOT_RUN]


def _floor_row(results: Runs, floor: str, label: str) -> list[str]:
    runs = runs_of(results, floor, CITEULIKE)
    if not runs:
        return [label, NOT_RUN]
    recall, rank = (f"{runs[0].metrics[f'test/{score}']:.2f}" for score in (RECALL, RANK))
    return [label, NOTHING, NOTHING, recall, rank]


def _both(runs: Runs) -> str:
    if not runs:
        return NOT_RUN
    return " / ".join(
        mean_and_deviation([run.metrics.get(f"test/{score}") for run in runs]) for score in (RECALL, RANK)
    )


def _names(results: Runs, model: str) -> list[str]:
    """Return the names of runs of a model with other settings than the default ones on CiteULike, sorted."""
    wanted = (RECIPES[MODELS[model]], model, SESSION_DATASETS[CITEULIKE])
    return sorted({run.tag for run in results if (run.recipe, run.variant, run.dataset) == wanted and run.tag})


TABLES: dict[str, Callable[[Runs], str]] = {"hcrnn-citeulike": citeulike, "hcrnn-sets": sets}
