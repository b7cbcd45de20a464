"""Regression: test errors of attention with learned kernels and of what is beside it, made from results files.

A cell is the mean and sample standard deviation of the test RMSE over random splits, in the unit of the target, with
the number of splits where there are fewer than ten. Differences have the p of the corrected resampled t-test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxzoo.results.comparison import paired_test
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    commands_not_run,
    markdown_table,
    mean_and_deviation,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)
from ctxzoo.tasks.regression.experiments import BEST_TEST, SETS, VALIDATION

RECIPE = "regression_ika"
SPLITS = 10
TEST_TO_TRAIN = {VALIDATION: 1 / 8, BEST_TEST: 1 / 9}  # rows of test to those of training, for the corrected test
MODELS = {
    "mean": "mean of the training rows",
    "ridge": "ridge regression",
    "gp_rbf": "Gaussian process, RBF",
    "gp_sm": "Gaussian process, spectral mixture of 5",
    "dot": "`dot`",
    "rbf": "`rbf`",
    "ikan_direct": "`ikan`, direct",
    "ika": "`ika`",
    "mikan": "`mikan`",
}
# Of more than 5,000 rows: in parts, and fewer epochs of several steps each.
PARTS = {"parkinsons": " --rows_per_step 1024 --epochs 200"}
# On parkinsons: tag and options of random splits of whole persons, and of person and time as the only features.
PERSONS = "parkinsons-persons", " --group_column x0 --name persons"
TIME_ALONE = "parkinsons-person_and_time", " --feature_columns x0 x3 --name person_and_time"
PROCESS = "gp_rbf"
OF_PERSONS = ("mean", "ridge", PROCESS, "dot", "rbf", "ikan_direct", "ika", "mikan")
LEARNED = ("dot", "rbf", "ikan_direct", "ika", "mikan")

Runs = list[RunResult]


def chosen_on_validation(results: Runs) -> str:
    """Return the test RMSE of every model on every set; the epoch was chosen on validation rows."""
    return _table(results, VALIDATION, tuple(MODELS))


def best_of_all_epochs(results: Runs) -> str:
    """Return the lowest test RMSE of all epochs, the protocol of IKA's code, which chooses on test rows."""
    return _table(results, BEST_TEST, LEARNED)


def unseen_persons(results: Runs) -> str:
    """Return the test RMSE on parkinsons where rows are drawn for test, and where all rows of some persons are."""
    rows = [
        [MODELS[model], _cell(runs_of(results, model, "parkinsons")), _cell(_tagged(results, model, PERSONS[0]))]
        for model in OF_PERSONS
    ]
    alone = _tagged(results, PROCESS, TIME_ALONE[0])
    rows.append([f"{MODELS[PROCESS]}, of person and time alone", _cell(alone), NOTHING])
    missing = [model for model in OF_PERSONS if len(_tagged(results, model, PERSONS[0])) < SPLITS]
    command = f"python recipes/{RECIPE}.py --dataset parkinsons --models"
    commands = []
    if missing:
        commands.append(f"{command} {' '.join(missing)}{PARTS['parkinsons']}{PERSONS[1]} --resume")
    if len(alone) < SPLITS:
        commands.append(f"{command} {PROCESS}{TIME_ALONE[1]} --resume")
    table = markdown_table(["model", "rows of any person", "all rows of four persons"], rows)
    return with_commands(table, commands_not_run(commands))


def runs_of(results: Sequence[RunResult], model: str, name: str, protocol: str = VALIDATION) -> Runs:
    """Return the random splits of a model on a set, without trials of a few batches.

    Args:
        results: of all recipes.
        model: one of `MODELS`.
        name: one of `SETS`.
        protocol: by which the epoch was chosen.

    Raises:
        ValueError: a split twice, or splits that were not made alike.
    """
    return _tagged(results, model, name if protocol == VALIDATION else f"{name}-{protocol}")


def _tagged(results: Sequence[RunResult], model: str, tag: str) -> Runs:
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.tag) == (RECIPE, model, tag)
        and run.fold is not None
        and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def _table(results: Runs, protocol: str, models: Sequence[str]) -> str:
    rows, commands = [], []
    for model in models:
        rows.append([MODELS[model], *(_cell(runs_of(results, model, name, protocol)) for name in SETS)])
    for model in models:
        if model in LEARNED[1:]:
            rows.append([f"{MODELS[model]} − `dot`", *(_difference(results, model, name, protocol) for name in SETS)])
    for name in SETS:
        missing = [model for model in models if len(runs_of(results, model, name, protocol)) < SPLITS]
        if missing:
            how = ("" if protocol == VALIDATION else f" --protocol {protocol}") + PARTS.get(name, "")
            commands.append(f"python recipes/{RECIPE}.py --dataset {name} --models {' '.join(missing)}{how} --resume")
    return with_commands(markdown_table(["model", *SETS], rows), commands_not_run(commands))


def _difference(results: Runs, model: str, name: str, protocol: str) -> str:
    """Write the mean difference to dot products, with its p over the splits that both have."""
    ours, base = (
        {(run.seed, run.fold): run.metrics["test/rmse"] for run in runs_of(results, one, name, protocol)}
        for one in (model, "dot")
    )
    common = ours.keys() & base.keys()
    if len(common) < 2:
        return NOTHING
    first, second = ({place: each[place] for place in common} for each in (ours, base))
    return paired_test(first, second, TEST_TO_TRAIN[protocol]).cell()


def _cell(runs: Runs) -> str:
    if not runs:
        return NOT_RUN
    shown = mean_and_deviation([run.metrics["test/rmse"] for run in runs])
    return shown if len(runs) >= SPLITS else f"{shown} ({len(runs)} of {SPLITS})"


TABLES: dict[str, Callable[[Runs], str]] = {
    "regression-rmse": chosen_on_validation,
    "regression-best-test": best_of_all_epochs,
    "regression-persons": unseen_persons,
}
