"""Session recommendation: tables of HCRNN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
    mean_and_deviation,
    metric,
    refuse_mixtures,
    refuse_repeats,
    seconds_column,
    trial_rows,
    with_commands,
)
from ctxzoo.tasks.sequences.baselines import SESSION_BASELINES
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.sequences.experiments import SESSION_VARIANTS

RECIPES = {"hcrnn": "citeulike_hcrnn", "session_baseline": "session_baselines"}  # by architecture
BASELINES_RECIPE = "session_floors"
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
MODELS = {model: of for of in ("session_baseline", "hcrnn") for model in SESSION_VARIANTS[of]}  # to the architecture
# Runs with twice the authors' width, chosen by trials on validation: their name, their options, and who has them.
WIDE = "wide"
WIDE_OPTIONS = "--embedding_size 200 --hidden_size 200 --embedding_dropout 0.5 --ema_decay 0.998"
WIDE_MODELS = (*SESSION_VARIANTS["session_baseline"], FOREMOST)

Runs = list[RunResult]


def citeulike(results: Runs) -> str:
    """Return every model on CiteULike: scores, length and cost of the training, above them what is to beat."""
    rows = [_floor_row(results, floor, label) for floor, label in FLOOR_LABELS.items()]
    commands = [f"python recipes/{BASELINES_RECIPE}.py --resume"] if any(row[1] == NOT_RUN for row in rows) else []
    rows += _model_rows(results, MODELS)
    return _citeulike_table([*rows, *_difference_rows(results, MODELS)], [*commands, *_missing(results, MODELS)])


def wide(results: Runs) -> str:
    """Return the models of twice the width on CiteULike, as `citeulike` does, and what each gains by the settings."""
    rows = [*_model_rows(results, WIDE_MODELS, WIDE), *_difference_rows(results, WIDE_MODELS, WIDE)]
    for model in WIDE_MODELS:
        ours, base = (runs_of(results, model, CITEULIKE, name) for name in (WIDE, ""))
        rows.append(_difference_row(MODEL_LABELS[model], "with the authors' settings", ours, base))
    return _citeulike_table(rows, _missing(results, WIDE_MODELS, WIDE, f" {WIDE_OPTIONS} --name {WIDE}"))


def _citeulike_table(rows: Sequence[Sequence[str]], commands: Sequence[str]) -> str:
    headings = ["model", *(column.heading for column in COLUMNS)]
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def _model_rows(results: Runs, models: Iterable[str], name: str = "") -> list[list[str]]:
    rows = []
    for model in models:
        runs = runs_of(results, model, CITEULIKE, name)
        rows.append([MODEL_LABELS[model], *_cells(runs)])
        if runs and len(runs) < SEEDS:
            rows[-1][1] = f"{len(runs)} of {SEEDS}"
    return rows


def _difference_rows(results: Runs, models: Iterable[str], name: str = "") -> list[list[str]]:
    foremost = runs_of(results, FOREMOST, CITEULIKE, name)
    return [
        _difference_row(MODEL_LABELS[FOREMOST], MODEL_LABELS[model], foremost, runs_of(results, model, CITEULIKE, name))
        for model in models
        if model != FOREMOST
    ]


def _difference_row(label: str, base_label: str, ours: Runs, base: Runs) -> list[str]:
    cells = [difference(ours, base, score) for score in (RECALL, RANK)]
    return [f"{label} − {base_label} (p over seeds)", NOTHING, NOTHING, *cells]


def _missing(results: Runs, models: Iterable[str], name: str = "", options: str = "") -> list[str]:
    """Return the commands that train what lacks seeds, with these further options."""
    lacking: dict[str, list[str]] = {}
    for model in models:
        if len(runs_of(results, model, CITEULIKE, name)) < SEEDS:
            lacking.setdefault(RECIPES[MODELS[model]], []).append(model)
    seeds = " ".join(map(str, range(SEEDS)))
    return [
        f"python recipes/{recipe}.py --models {' '.join(those)} --seeds {seeds}{options} --resume"
        for recipe, those in lacking.items()
    ]


def trials(results: Runs) -> str:
    """Return the trials on validation by which settings were chosen: scores, and the settings that tell them apart."""
    rows = []
    for model, architecture in MODELS.items():
        wanted = (RECIPES[architecture], model, SESSION_DATASETS[CITEULIKE])
        found = [run for run in results if (run.recipe, run.variant, run.dataset) == wanted]
        found.sort(key=lambda run: run.metrics[f"validation/{RECALL}"], reverse=True)
        rows += [[MODEL_LABELS[model], *row] for row in trial_rows(found, TRIAL_COLUMNS)]
    return markdown_table(["model", "settings", *(column.heading for column in TRIAL_COLUMNS)], rows, left=2)


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
        model: one of `MODELS`, or of `SESSION_BASELINES`.
        dataset: one of `SETS`.
        name: what the runs were called beside.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    recipe = BASELINES_RECIPE if model in SESSION_BASELINES else RECIPES[MODELS[model]]
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
    """Write the difference of a test score, in percent, with its p over seeds."""
    return seeds_cell(ours, base, f"test/{score}")


VALIDATION_COLUMN = metric("validation Recall@20", f"validation/{RECALL}")
TRAINING_COLUMNS = (RUN_COLUMNS[1], best_epoch_column(RECALL, higher=True), PARAMETERS_COLUMN, seconds_column())
COLUMNS = (
    RUN_COLUMNS[0],
    VALIDATION_COLUMN,
    metric("test Recall@20", f"test/{RECALL}"),
    metric("test MRR@20", f"test/{RANK}"),
    *TRAINING_COLUMNS,
)
TRIAL_COLUMNS = (VALIDATION_COLUMN, metric("validation MRR@20", f"validation/{RANK}"), *TRAINING_COLUMNS)


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


TRIAL_TABLES: dict[str, Callable[[Runs], str]] = {"hcrnn-trials": trials}
TABLES: dict[str, Callable[[Runs], str]] = {"hcrnn-citeulike": citeulike, "hcrnn-wide": wide, "hcrnn-sets": sets}
