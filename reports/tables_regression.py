"""Regression: test errors of attention with learned kernels and of what is beside it, made from results files.

A cell is the mean and sample standard deviation of the test RMSE over random splits, in the unit of the target, with
the number of splits where there are fewer than ten. Differences have the p of the corrected resampled t-test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxzoo.results.comparison import paired_test
from ctxzoo.results.table_parts import NOTHING
from ctxzoo.tasks.regression.experiments import BEST_TEST, SETS, VALIDATION
from reports.results_table import Difference, Row, Runs, Table, score

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
OF_PERSONS = ("mean", "ridge", "gp_rbf", "dot", "rbf", "ikan_direct", "ika", "mikan")
LEARNED = ("dot", "rbf", "ikan_direct", "ika", "mikan")
SPLIT = " ({have} of {need})"


def _table(protocol: str, models: Iterable[str]) -> Table:
    """Return the table of all sets by how the epoch was chosen."""

    def minus(ours: Runs, base: Runs) -> str:
        """Write the mean difference to dot products, with its p over the splits that both have."""
        first, second = ({(run.seed, run.fold): run.metrics["test/rmse"] for run in runs} for runs in (ours, base))
        common = first.keys() & second.keys()
        if len(common) < 2:
            return NOTHING
        first, second = ({split: errors[split] for split in common} for errors in (first, second))
        return paired_test(first, second, TEST_TO_TRAIN[protocol]).cell()

    name, option = ("", "") if protocol == VALIDATION else (protocol, f" --protocol {protocol}")
    columns = [
        score(
            data,
            "test/rmse",
            minus=minus,
            partly=SPLIT,
            where={"part": data, "name": name},
            fill={"set": data, "options": option + PARTS.get(data, "")},
        )
        for data in SETS
    ]
    command = f"python recipes/{RECIPE}.py --dataset {{set}} --models {{missing}}{{options}} --resume"
    rows = [Row(MODELS[model], {"variant": model}, need=SPLITS, command=command) for model in models]
    differences = [
        Difference(f"{MODELS[model]} − `dot`", {"variant": model}, {"variant": "dot"}) for model in LEARNED[1:]
    ]
    return Table(("model",), columns, [*rows, *differences], where={"recipe": RECIPE})


chosen_on_validation = _table(VALIDATION, MODELS)
best_of_all_epochs = _table(BEST_TEST, LEARNED)  # the protocol of IKA's code, which chooses on test rows

_PARKINSONS = f"python recipes/{RECIPE}.py --dataset parkinsons --models {{missing}}"
_OF_ALL = f"{_PARKINSONS}{PARTS['parkinsons']}{{options}} --resume"
_TIME_ALONE = f"{_PARKINSONS} --feature_columns x0 x3 --name person_and_time --resume"
unseen_persons = Table(
    ("model",),
    (
        score("rows of any person", "test/rmse", partly=SPLIT),
        score(
            "all rows of four persons",
            "test/rmse",
            partly=SPLIT,
            where={"name": "persons"},
            fill={"options": " --group_column x0 --name persons"},
        ),
    ),
    [
        *(Row(MODELS[model], {"variant": model}, need=SPLITS, command=_OF_ALL) for model in OF_PERSONS),
        Row(
            f"{MODELS['gp_rbf']}, of person and time alone",
            {"variant": "gp_rbf", "name": "person_and_time"},
            given={"all rows of four persons": NOTHING},
            need=SPLITS,
            command=_TIME_ALONE,
        ),
    ],
    where={"recipe": RECIPE, "part": "parkinsons", "name": ""},
)

TABLES: dict[str, Callable[..., str]] = {
    "regression-rmse": chosen_on_validation,
    "regression-best-test": best_of_all_epochs,
    "regression-persons": unseen_persons,
}
