"""The table of trials of the default settings: validation accuracy by the weight of the network's scores."""

from __future__ import annotations

from ctxzoo.results.result import RunResult
from reports.tables_default_texts import RECIPE, TRIAL_TABLES
from tests.support.result_tables import make_run, rows


def trial(variant: str, accuracy: float, fold: int, deep_scale: float, dataset: str = "SetFit/CR") -> RunResult:
    settings = {"deep_scale": deep_scale}
    made = make_run(variant, 0, settings=settings, split="validation", fold=fold, recipe=RECIPE, dataset=dataset)
    made.metrics = {"validation/accuracy": accuracy}
    return made


def test_weights_stand_in_order_and_half_a_cross_validation_does_not_count() -> None:
    found = [
        *(trial("both", 80.0 + fold, fold, 0.5) for fold in range(5)),
        *(trial("both", 70.0, fold, 0.25) for fold in range(4)),
        *(trial("wide", 78.0, fold, 0.25) for fold in range(5)),  # alone it has no weight, whatever the preset says
        *(trial("both", 10.0, fold, 0.5, "ctxzoo-data/mpqa") for fold in range(5)),
    ]
    table = rows(TRIAL_TABLES["default-texts-trials"](found))
    assert list(table) == ["0", "0.25", "0.5"]
    assert [table[weight]["CR"] for weight in table] == ["78.00 ± 0.00", "not run yet", "82.00 ± 1.58"]
    assert table["0.5"]["MPQA"] == "10.00 ± 0.00"
    assert table["0.5"]["IMDB"] == "not run yet"
