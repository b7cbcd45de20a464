"""Vote prediction: tables of NIPEN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    changed_settings,
    commands_not_run,
    markdown_table,
    metric,
    refuse_mixtures,
    refuse_repeats,
    seconds_column,
    trial_rows,
    with_commands,
)
from ctxzoo.tasks.vote_prediction.baselines import FLOORS
from ctxzoo.tasks.vote_prediction.experiments import VOTE_DATASETS

RECIPE, FLOORS_RECIPE = "roll_call_nipen", "roll_call_floors"
VOTES, NEW_BILLS = "roll_call", "roll_call_new_bills"
ALONE = "_alone"
FLOOR_LABELS = {
    "bill_rate": "yeas of the bill",
    "party_rate": "yeas of the party",
    "bill_party_rate": "yeas of the party on the bill",
    "tfidf_party": "TF-IDF, a logistic regression for each party",
}
LABELS = {
    "ideal_point": "ideal point",
    "ideal_point_network": "ideal point with network",
    "autorec": "AutoRec",
    "cdae": "CDAE",
    "trust_svd": "TrustSVD",
    "cdl": "CDL",
    "pgm_sdae": "NIPEN PGM (SDAE)",
    "pgm_sdae_low_rank": "NIPEN PGM (SDAE), low-rank trust",
    "pgm_vae": "NIPEN PGM (VAE)",
    "tensor": "NIPEN Tensor (VAE)",
}
FOREMOST = "pgm_sdae"  # which is compared with the models of other papers
TEN_DIMENSIONS = "ten_dimensions"  # name of ideal points that are compared with NIPEN without network
READS_TEXTS = ("cdl", "pgm_sdae", "pgm_vae", "tensor")  # of new bills

Runs = list[RunResult]


def models() -> dict[str, str]:
    """Return the models that are trained, with their labels, in the order of the tables."""
    found = {name: LABELS[name] for name in VoteBaselineConfig.variants}
    for name in NipenConfig.variants:
        found[name] = LABELS[name]
        if name != "pgm_sdae_low_rank":
            found[f"{name}{ALONE}"] = f"{LABELS[name]}, alone"
    return found


def votes(results: Runs) -> str:
    """Return every model on votes drawn one by one, above them what is to beat."""
    return _table(results, VOTES, models(), tuple(FLOORS))


def new_bills(results: Runs) -> str:
    """Return the models that read texts on bills without votes in the training, above them what is to beat."""
    those = {name: label for name, label in models().items() if name.removesuffix(ALONE) in READS_TEXTS}
    return _table(results, NEW_BILLS, those, ("bill_rate", "party_rate", "tfidf_party"))


def _table(results: Runs, dataset: str, those: dict[str, str], floors: tuple[str, ...]) -> str:
    rows = []
    for floor in floors:
        runs = runs_of(results, floor, dataset)
        scores = [column.show(runs) for column in SCORES[1:]] if runs else []
        rows.append([FLOOR_LABELS[floor], NOTHING, NOTHING, *scores] if runs else [FLOOR_LABELS[floor], NOT_RUN])
    missing = []
    for model, label in those.items():
        runs = runs_of(results, model, dataset)
        rows.append([label, *([column.show(runs) for column in COLUMNS] if runs else [NOT_RUN])])
        if not runs:
            missing.append(model)
        for name in _names(results, model, dataset):
            named = runs_of(results, model, dataset, name)
            changes = changed_settings({"": (named[0], runs[0])}) if runs else ""
            rows.append([f"{label}, {name}{changes}", *[column.show(named) for column in COLUMNS]])
    rows += _difference_rows(results, dataset)
    commands = []
    if any(row[1] == NOT_RUN for row in rows[: len(floors)]):
        commands.append(f"python recipes/{FLOORS_RECIPE}.py --dataset {dataset} --resume")
    if missing:
        commands.append(f"python recipes/{RECIPE}.py --dataset {dataset} --models {' '.join(missing)} --resume")
    return with_commands(
        markdown_table(["model", *(column.heading for column in COLUMNS)], rows), commands_not_run(commands)
    )


def _difference_rows(results: Runs, dataset: str) -> list[list[str]]:
    """Return what sets NIPEN apart from the models of other papers, with its p over seeds."""
    pairs = [((FOREMOST, ""), (model, "")) for model in VoteBaselineConfig.variants]
    pairs += [((of, ""), ("ideal_point", TEN_DIMENSIONS)) for of in (FOREMOST, f"{FOREMOST}{ALONE}")]
    rows = []
    for names in pairs:
        first, second = (runs_of(results, model, dataset, name) for model, name in names)
        if first and second:
            ours, base = (", ".join(filter(None, (models()[model], name))) for model, name in names)
            cells = [seeds_cell(first, second, f"test/{name}", digits) for name, digits in COMPARED.items()]
            rows.append([f"{ours} − {base} (p over seeds)", NOTHING, NOTHING, *cells])
    return rows


def trials(results: Runs) -> str:
    """Return the trials by which settings were chosen: validation scores, and the settings that tell them apart.

    Settings are those in which the trials of a model on a set differ; of settings that a trial lacks nothing is said.
    """
    rows = []
    for dataset, source in VOTE_DATASETS.items():
        for model, label in models().items():
            wanted = (RECIPE, model, source["dataset"], source["configuration"])
            found = [
                run
                for run in results
                if (run.recipe, run.variant, run.dataset, run.settings.get("configuration")) == wanted
            ]
            found.sort(key=lambda run: run.metrics["validation/log_likelihood"], reverse=True)
            rows += [[dataset, label, *row] for row in trial_rows(found, TRIAL_SCORES)]
    return markdown_table(["set", "model", "settings", *(column.heading for column in TRIAL_SCORES)], rows, left=3)


def runs_of(results: Sequence[RunResult], model: str, dataset: str, name: str = "") -> Runs:
    """Return the seeds of a model on a set, without trials of a few batches.

    Args:
        results: of all recipes.
        model: one of `models`, or of `FLOORS`.
        dataset: one of `VOTE_DATASETS`.
        name: what the runs were called beside.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    recipe = FLOORS_RECIPE if model in FLOORS else RECIPE
    source = VOTE_DATASETS[dataset]
    tag = "-".join(part for part in (source["configuration"], name) if part)
    wanted = (recipe, model, source["dataset"], tag)
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == wanted and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    refuse_mixtures(found)
    return found


def _names(results: Runs, model: str, dataset: str) -> list[str]:
    """Return the names of runs of a model with other settings than the default ones, sorted."""
    source = VOTE_DATASETS[dataset]
    start = f"{source['configuration']}-"
    wanted = (RECIPE, model, source["dataset"])
    tags = {run.tag for run in results if (run.recipe, run.variant, run.dataset) == wanted}
    return sorted(tag.removeprefix(start) for tag in tags if tag.startswith(start))


COMPARED = {"accuracy": 2, "log_likelihood": 4}  # digits of the scores that are tested
SCORES = (
    metric("validation log-likelihood", "validation/log_likelihood", 4),
    metric("test accuracy", "test/accuracy"),
    metric("test log-likelihood", "test/log_likelihood", 4),
    metric("RMSE", "test/rmse", 4),
    metric("MAE", "test/mae", 4),
    metric("calibration error", "test/calibration_error", 4),
)
TRIAL_SCORES = (
    metric("validation accuracy", "validation/accuracy"),
    metric("validation log-likelihood", "validation/log_likelihood", 4),
)
COLUMNS = (
    RUN_COLUMNS[0],
    *SCORES,
    RUN_COLUMNS[1],
    PARAMETERS_COLUMN,
    seconds_column(1),
)

TRIAL_TABLES: dict[str, Callable[[Runs], str]] = {"nipen-trials": trials}
TABLES: dict[str, Callable[[Runs], str]] = {"nipen-votes": votes, "nipen-new-bills": new_bills}
