"""Vote prediction: tables of NIPEN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.table_parts import make_seconds_column
from ctxzoo.tasks.vote_prediction.experiments import VOTE_DATASETS
from reports.labels import read_labels
from reports.results_table import Difference, Line, Table, Trials, make_named_rows, make_rows
from reports.run_selection import Runs
from reports.score_columns import score_column

RECIPE = "roll_call_nipen"
ALONE = "_alone"
COUNTS, LABELS = (read_labels("nipen")[name] for name in ("counts", "models"))
FOREMOST = "pgm_sdae"  # which is compared with the models of other papers
READS_TEXTS = ("cdl", "pgm_sdae", "pgm_vae", "tensor")  # of new bills
MODELS = {name: LABELS[name] for name in VoteBaselineConfig.variants}  # in the order of the tables
for _name in NipenConfig.variants:
    MODELS[_name] = LABELS[_name]
    if _name != "pgm_sdae_low_rank":
        MODELS[f"{_name}{ALONE}"] = f"{LABELS[_name]}, alone"

SCORES = (
    score_column("test accuracy", "test/accuracy", tested=True),
    score_column("test log-likelihood", "test/log_likelihood", 4, tested=True),
    score_column("RMSE", "test/rmse", 4),
    score_column("MAE", "test/mae", 4),
    score_column("calibration error", "test/calibration_error", 4),
)
LIKELIHOOD = score_column("validation log-likelihood", "validation/log_likelihood", 4)
COLUMNS = ("seeds", LIKELIHOOD, *SCORES, "epochs", "trainable parameters", make_seconds_column(1))


def _make_vote_table(dataset: str, counts: Iterable[str], models: Mapping[str, str]) -> Table:
    """Return the table of vote prediction on a dataset: baselines that count, models, and differences."""
    source = VOTE_DATASETS[dataset]

    def list_rows(results: Runs) -> Iterable[Line]:
        """Yield the rows of the baselines and the models, and the differences of NIPEN to others."""
        labels = {name: COUNTS[name] for name in counts}
        scores = [column.heading for column in SCORES]
        command = f"--dataset {dataset} --resume"
        yield from make_rows(labels, {"recipe": "roll_call_floors"}, only=scores, command=command)
        for model, label in models.items():
            yield from make_rows({model: label}, command=f"--dataset {dataset} --models {{missing}} --resume")
            values = {"recipe": RECIPE, "variant": model, "dataset": source["dataset"]}
            yield from make_named_rows(results, values, {model: label}, source["configuration"])
        pairs = [(FOREMOST, model, "") for model in VoteBaselineConfig.variants]
        pairs += [(f"{FOREMOST}{alone}", "ideal_point", "ten_dimensions") for alone in ("", ALONE)]
        for ours, base, name in pairs:
            label = f"{MODELS[ours]} − {MODELS[base]}{f', {name}' if name else ''} (p over seeds)"
            yield Difference(label, {"variant": ours}, {"variant": base, "name": name}, optional=True)

    values = {"recipe": RECIPE, "dataset": source["dataset"], "part": source["configuration"], "name": ""}
    return Table(COLUMNS, list_rows, values)


TABLES: dict[str, Callable[..., str]] = {
    "nipen-votes": _make_vote_table("roll_call", COUNTS, MODELS),
    "nipen-new-bills": _make_vote_table(
        "roll_call_new_bills",
        ("bill_rate", "party_rate", "tfidf_party"),
        {name: label for name, label in MODELS.items() if name.removesuffix(ALONE) in READS_TEXTS},
    ),
}
TRIAL_TABLES: dict[str, Callable[..., str]] = {
    "nipen-trials": Trials(
        ("set", "model"),
        (score_column("validation accuracy", "validation/accuracy"), LIKELIHOOD),
        {
            (dataset, label): {
                **{"recipe": RECIPE, "variant": model, "dataset": source["dataset"]},
                "settings.configuration": source["configuration"],
            }
            for dataset, source in VOTE_DATASETS.items()
            for model, label in MODELS.items()
        },
        by="validation/log_likelihood",
    )
}
