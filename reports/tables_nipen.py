"""Vote prediction: tables of NIPEN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.table_parts import seconds_column
from ctxzoo.tasks.vote_prediction.experiments import VOTE_DATASETS
from reports.results_table import (
    EPOCHS,
    PARAMETERS,
    SEEDS,
    Difference,
    Line,
    Row,
    Runs,
    Table,
    Trials,
    as_column,
    rows_of_names,
    score,
    seeds_test,
)

RECIPE, FLOORS_RECIPE = "roll_call_nipen", "roll_call_floors"
ALONE = "_alone"
FLOORS = {
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


def models() -> dict[str, str]:
    """Return the models that are trained, with their labels, in the order of the tables."""
    found = {name: LABELS[name] for name in VoteBaselineConfig.variants}
    for name in NipenConfig.variants:
        found[name] = LABELS[name]
        if name != "pgm_sdae_low_rank":
            found[f"{name}{ALONE}"] = f"{LABELS[name]}, alone"
    return found


SCORES = (
    score("test accuracy", "test/accuracy", minus=seeds_test("test/accuracy")),
    score("test log-likelihood", "test/log_likelihood", 4, minus=seeds_test("test/log_likelihood", 4)),
    score("RMSE", "test/rmse", 4),
    score("MAE", "test/mae", 4),
    score("calibration error", "test/calibration_error", 4),
)
LIKELIHOOD = score("validation log-likelihood", "validation/log_likelihood", 4)
COLUMNS = (SEEDS, LIKELIHOOD, *SCORES, EPOCHS, PARAMETERS, as_column(seconds_column(1)))


def _table(dataset: str, floors: Iterable[str], those: dict[str, str]) -> Table:
    source = VOTE_DATASETS[dataset]
    where = {"recipe": RECIPE, "dataset": source["dataset"], "part": source["configuration"], "name": ""}
    return Table(("model",), COLUMNS, partial(_rows, dataset, tuple(floors), those), where=where)


def _rows(dataset: str, floors: Iterable[str], those: dict[str, str], results: Runs) -> Iterable[Line]:
    scores = [column.heading for column in SCORES]
    for floor in floors:
        command = f"python recipes/{FLOORS_RECIPE}.py --dataset {dataset} --resume"
        yield Row(FLOORS[floor], {"recipe": FLOORS_RECIPE, "variant": floor}, only=scores, command=command)
    source = VOTE_DATASETS[dataset]
    for model, label in those.items():
        command = f"python recipes/{RECIPE}.py --dataset {dataset} --models {{missing}} --resume"
        yield Row(label, {"variant": model}, command=command)
        where = {"recipe": RECIPE, "variant": model, "dataset": source["dataset"]}
        yield from rows_of_names(results, where, {model: label}, source["configuration"])
    for model in VoteBaselineConfig.variants:
        yield _difference(FOREMOST, model)
    for model in (FOREMOST, f"{FOREMOST}{ALONE}"):
        yield _difference(model, "ideal_point", TEN_DIMENSIONS)


def _difference(ours: str, base: str, name: str = "") -> Difference:
    label = ", ".join(filter(None, (models()[base], name)))
    where = {"variant": base, "name": name}
    return Difference(f"{models()[ours]} − {label} (p over seeds)", {"variant": ours}, where, optional=True)


votes = _table("roll_call", FLOORS, models())
new_bills = _table(
    "roll_call_new_bills",
    ("bill_rate", "party_rate", "tfidf_party"),
    {name: label for name, label in models().items() if name.removesuffix(ALONE) in READS_TEXTS},
)
trials = Trials(
    ("set", "model"),
    (score("validation accuracy", "validation/accuracy"), LIKELIHOOD),
    {
        (dataset, label): {
            "recipe": RECIPE,
            "variant": model,
            "dataset": source["dataset"],
            "settings.configuration": source["configuration"],
        }
        for dataset, source in VOTE_DATASETS.items()
        for model, label in models().items()
    },
    by="validation/log_likelihood",
)

TRIAL_TABLES: dict[str, Callable[..., str]] = {"nipen-trials": trials}
TABLES: dict[str, Callable[..., str]] = {"nipen-votes": votes, "nipen-new-bills": new_bills}
