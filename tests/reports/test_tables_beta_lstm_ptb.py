"""The table of the Beta-LSTM on the Penn Treebank: which runs stand where, what is missing, the test beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_beta_lstm_ptb import DATASET, penn_treebank
from tests.support.result_tables import make_run, rows

P = "nats of a token − `lstm` (p over seeds)"


def model(variant: str, nll: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {
        **{"test/nll": nll, "test/perplexity": math.exp(nll), "validation/perplexity": math.exp(nll) + 4},
        **{f"validation/epoch{epoch}/nll": nll + abs(epoch - 2) for epoch in (1, 2, 3)},
        "epochs": 3,
    }
    values = {
        **{"recipe": "ptb_beta_lstm", "architecture": "beta_lstm", "dataset": DATASET, "tag": ""},
        **{"metrics": metrics, "wall_seconds": 600.0},
    }
    return replace(make_run(variant, seed, settings={"hidden_size": 200}), **{**values, **changes})


def test_cells_counts_and_what_is_missing() -> None:
    results = [model("lstm", 4.6 + seed / 10, seed=seed) for seed in range(2)]
    results += [model("bibeta5", 4.4, seed=1, settings={"hidden_size": 175})]
    results += [model("kneser_ney_5", 4.9, recipe="ptb_floors"), model("kumaraswamy", 4.0)]
    text = penn_treebank(results)
    table = rows(text)
    assert table["`lstm`"]["test"] == f"{(math.exp(4.6) + math.exp(4.7)) / 2:.2f} ± {7.40:.2f}"
    assert table["`lstm`"]["best epoch"] == "2 ± 0"
    assert table["`lstm`"][P] == "–"
    assert table["`bibeta5`"]["units"] == "175"
    assert table["`bibeta5`"]["minutes"] == "10"
    assert table["`bibeta5`"][P] == "-0.250 (one seed)"
    assert table["counts of five words, modified Kneser-Ney"]["test"] == "134.29"
    assert table["how often each word occurs"]["test"] == "not run yet"
    assert table["`g2`"]["seeds"] == "not run yet"
    assert "`noisin`" not in table
    assert "`kumaraswamy`" in table
    commands = [line for line in text.splitlines() if line.startswith("python")]
    assert commands == [
        "python recipes/ptb_beta_lstm.py --cells coupled g2 beta --resume --results_dir results",
        "python recipes/ptb_floors.py --resume --results_dir results",
    ]


def test_runs_under_a_name_stand_apart_with_what_they_changed() -> None:
    named = model("lstm", 4.2, tag="long")
    named = replace(named, settings={**named.settings, "epochs": 60})
    table = rows(penn_treebank([model("lstm", 4.6), named]))
    assert table["`lstm`, long (epochs 60)"]["test"] == f"{math.exp(4.2):.2f}"
    assert table["`lstm`"]["test"] == f"{math.exp(4.6):.2f}"


def test_other_data_and_trials_are_left_out() -> None:
    results = [model("lstm", 4.6, dataset="sample"), model("lstm", 4.6, settings={"tiny": True, "hidden_size": 6})]
    assert rows(penn_treebank(results))["`lstm`"]["seeds"] == "not run yet"
    with pytest.raises(ValueError, match="were not made alike"):
        penn_treebank([model("lstm", 4.6), model("lstm", 4.6, seed=1, settings={"hidden_size": 5})])
