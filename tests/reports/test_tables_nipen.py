"""The tables of vote prediction: which runs stand where, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxzoo.results.result import RunResult
from reports.tables_nipen import TABLES, TRIAL_TABLES
from tests.support.result_tables import make_run, rows


def made(model: str, likelihood: float, *, seed: int = 0, tag: str = "votes", **changes: Any) -> RunResult:
    names = ("test/log_likelihood", "validation/log_likelihood", "test/accuracy", "test/rmse", "test/mae")
    floor = model.endswith("rate")
    values: dict[str, Any] = {
        "recipe": "roll_call_floors" if floor else "roll_call_nipen",
        "dataset": "ctxzoo-data/roll_call",
        "metrics": {**dict.fromkeys(names, likelihood), "epochs": 4},
        "tag": tag,
        "wall_seconds": 60.0,
    }
    return replace(make_run(model, seed, settings={"epochs": 4}), **{**values, **changes})


def test_votes() -> None:
    results = [
        made("pgm_vae", -0.2),
        made("pgm_vae", -0.3, seed=1),
        made("bill_rate", -0.5),
        made("tensor_alone", -0.4),
    ]
    table = rows(TABLES["nipen-votes"](results))
    assert table["NIPEN PGM (VAE)"]["test log-likelihood"] == "-0.2500 ± 0.0707"
    assert table["NIPEN PGM (VAE)"]["seconds an epoch"] == "15.0 ± 0.0"
    assert table["NIPEN Tensor (VAE), alone"]["test log-likelihood"] == "-0.4000"
    assert table["yeas of the bill"]["test log-likelihood"] == "-0.5000"
    assert table["CDAE"]["seeds"] == "not run yet"
    commands = [line for line in TABLES["nipen-votes"](results).splitlines() if line.startswith("python")]
    assert len(commands) == 2
    assert "--dataset roll_call --models ideal_point ideal_point_network autorec" in commands[1]


def test_runs_under_a_name_stand_apart_with_what_they_changed() -> None:
    named = made("pgm_vae", -0.6, tag="votes-authors")
    named = replace(named, settings={**named.settings, "epochs": 9})
    table = rows(TABLES["nipen-votes"]([made("pgm_vae", -0.2), named]))
    assert table["NIPEN PGM (VAE), authors (epochs 9)"]["test accuracy"] == "-0.60"


def test_nipen_is_compared_over_seeds() -> None:
    network, points = ("ideal_point_network", "votes"), ("ideal_point", "votes-ten_dimensions")
    pairs = [(("pgm_sdae", "votes"), -0.2), (network, -0.3), (("pgm_sdae_alone", "votes"), -0.4), (points, -0.4)]
    results = [made(model, start - seed / 100, seed=seed, tag=tag) for (model, tag), start in pairs for seed in (0, 1)]
    table = rows(TABLES["nipen-votes"](results))
    row = table["NIPEN PGM (SDAE) − ideal point with network (p over seeds)"]
    assert row["test log-likelihood"] == "+0.1000 (p = 0.005)"  # t = 0.1 / sqrt(0.00005) with 2 degrees of freedom
    row = table["NIPEN PGM (SDAE), alone − ideal point, ten_dimensions (p over seeds)"]
    assert (row["test accuracy"], row["RMSE"]) == ("+0.00 (p = 1.000)", "")
    assert "NIPEN PGM (SDAE) − CDAE (p over seeds)" not in table


def test_new_bills_have_a_table_of_models_that_read_texts() -> None:
    table = rows(TABLES["nipen-new-bills"]([made("cdl", -0.7, tag="votes_new_bills"), made("pgm_vae", -0.1)]))
    assert table["CDL"]["test log-likelihood"] == "-0.7000"
    assert table["NIPEN PGM (VAE)"]["seeds"] == "not run yet"
    assert "AutoRec" not in table


def test_trials_say_what_tells_them_apart() -> None:
    def trial(likelihood: float, tag: str, **settings: Any) -> RunResult:
        scores = {"validation/log_likelihood": likelihood, "validation/accuracy": 93.5}
        run = made("pgm_vae", 0.0, tag=f"votes-{tag}", split="validation", metrics=scores)
        return replace(run, settings={**run.settings, "configuration": "votes", **settings})

    text = TRIAL_TABLES["nipen-trials"](
        [trial(-0.17, "a", trust_lambda=1500), trial(-0.16, "b", trust_lambda=500, num_topics=3)]
    )
    best, other = text.splitlines()[2:]
    assert "num_topics 3, trust_lambda 500 | 93.50 | -0.1600" in best
    assert "| trust_lambda 1500 | 93.50 | -0.1700" in other
    assert "epochs" not in text
