"""The tables of session recommendation: which runs stand where, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxzoo.results.result import RunResult
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from reports.tables_hcrnn import TABLES, TRIAL_TABLES
from tests.support.result_tables import make_run, rows

citeulike, wide, sets = (TABLES[f"hcrnn-{name}"] for name in ("citeulike", "wide", "sets"))
RECIPES = {"narm": "session_baselines", "hcrnn3_bi": "citeulike_hcrnn", "markov": "session_floors"}


def made(model: str, recall: float, *, seed: int = 0, dataset: str = "citeulike", **changes: Any) -> RunResult:
    metrics = {
        "test/recall_at_20": recall,
        "test/mrr_at_20": recall / 4,
        "validation/recall_at_20": recall + 1,
        **{f"validation/epoch{epoch}/recall_at_20": value for epoch, value in ((1, 3.0), (2, 9.0), (3, 8.0))},
        "epochs": 3,
    }
    values = {
        "recipe": RECIPES[model],
        "dataset": SESSION_DATASETS[dataset],
        "metrics": metrics,
        "tag": "",
        "wall_seconds": 60.0,
    }
    return replace(make_run(model, seed, settings={"epochs": 200}), **{**values, **changes})


def test_citeulike() -> None:
    results = [made("narm", 24.0), made("narm", 25.0, seed=1), made("markov", 21.32)]
    table = rows(citeulike(results))
    assert table["NARM"]["test Recall@20"] == "24.50 ± 0.71"
    assert table["NARM"]["seeds"] == "2 of 3"
    assert table["NARM"]["best epoch"] == "2 ± 0"
    assert table["NARM"]["seconds an epoch"] == "20 ± 0"
    assert table["Markov: what follows the last item"]["test MRR@20"] == "5.33"
    assert table["HCRNN-3 + Bi"]["seeds"] == "not run yet"
    commands = [line for line in citeulike(results).splitlines() if line.startswith("python")]
    assert commands == [
        "python recipes/session_floors.py --resume --results_dir results",
        "python recipes/session_baselines.py --models gru4rec narm stamp --seeds 0 1 2 --resume --results_dir results",
        "python recipes/citeulike_hcrnn.py --models hcrnn1 hcrnn2 hcrnn3 hcrnn3_bi --seeds 0 1 2 --resume "
        "--results_dir results",
    ]


def test_models_are_compared_over_seeds() -> None:
    narm = [made("narm", 20.0 + seed, seed=seed) for seed in (0, 1)]
    ours = [made("hcrnn3_bi", 23.0 + seed, seed=seed) for seed in (1, 2)]
    row = rows(citeulike([*narm, *ours]))["HCRNN-3 + Bi − NARM (p over seeds)"]
    assert row["test Recall@20"] == "+4.00 (p = 0.030)"  # t = 4 / sqrt(1/2) with 2 degrees of freedom
    assert row["test MRR@20"] == "+1.00 (p = 0.030)"


def test_models_of_twice_the_width_have_a_table_of_their_own() -> None:
    results = [
        made("hcrnn3_bi", 40.0),
        made("hcrnn3_bi", 50.0, tag="wide"),
        made("narm", 40.0, tag="wide"),
        made("narm", 60.0, tag="another"),
    ]
    table = rows(wide(results))
    assert table["HCRNN-3 + Bi"]["test Recall@20"] == "50.00"
    assert table["HCRNN-3 + Bi"]["seeds"] == "1 of 3"
    assert table["HCRNN-3 + Bi − NARM (p over seeds)"]["test Recall@20"] == "+10.00 (one seed)"
    against_itself = table["HCRNN-3 + Bi − with the authors' settings (p over seeds)"]
    assert against_itself["test Recall@20"] == "+10.00 (one seed)"
    assert table["NARM − with the authors' settings (p over seeds)"]["test Recall@20"] == "–"
    assert rows(citeulike(results))["HCRNN-3 + Bi"]["test Recall@20"] == "40.00"
    assert rows(citeulike(results))["NARM"]["seeds"] == "not run yet"
    commands = [line for line in wide(results).splitlines() if line.startswith("python")]
    assert commands == [
        f"python recipes/{recipe}.py --models {models} --seeds 0 1 2 --embedding_size 200 --hidden_size 200"
        " --embedding_dropout 0.5 --ema_decay 0.998 --name wide --resume --results_dir results"
        for recipe, models in (("session_baselines", "gru4rec narm stamp"), ("citeulike_hcrnn", "hcrnn3_bi"))
    ]


def test_trials_stand_by_their_validation_with_what_tells_them_apart() -> None:
    results = [
        made("narm", 24.0, settings={"epochs": 200, "embedding_size": 100}),
        made("narm", 26.0, settings={"epochs": 200, "embedding_size": 200}),
        made("narm", 30.0, dataset="lastfm"),
        made("hcrnn3_bi", 25.0),
    ]
    lines = [
        [cell.strip() for cell in line.split("|")[1:5]]
        for line in TRIAL_TABLES["hcrnn-trials"](results).splitlines()[2:]
    ]
    assert lines == [
        ["NARM", "embedding_size 200", "27.00", "–"],
        ["NARM", "embedding_size 100", "25.00", "–"],
        ["HCRNN-3 + Bi", "", "26.00", "–"],
    ]


def test_sets_stand_side_by_side_without_trials() -> None:
    results = [
        made("narm", 20.0, dataset="lastfm"),
        made("narm", 30.0, seed=1, dataset="lastfm", settings={"tiny": True}),
        made("markov", 19.82, dataset="movielens_100k"),
    ]
    table = rows(sets(results))
    assert table["NARM"]["LastFM (part)"] == "20.00 / 5.00"
    assert table["NARM"]["CiteULike"] == "not run yet"
    assert table["Markov: what follows the last item"]["MovieLens 100K"] == "19.82 / 4.96"
    assert "--dataset lastfm --models gru4rec stamp" in sets(results)
