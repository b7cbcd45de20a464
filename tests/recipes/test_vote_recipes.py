"""The recipes of vote prediction, on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes import roll_call_nipen
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NIPEN, FLOORS = "roll_call_nipen", "roll_call_floors"


def config_of(folder: Path, model: str) -> dict[str, Any]:
    """The configuration of a trained model."""
    (file,) = (folder / "runs" / NIPEN).glob(f"{model}-sample-*/checkpoint/config.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_models_are_trained_and_resume_keeps_them(tmp_path: Path) -> None:
    options = (*TINY, "--processes", "1")
    run = recipe(tmp_path, *options, name=NIPEN)
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert sorted(results) == sorted(roll_call_nipen.MODELS)
    assert all("test/log_likelihood" in one.metrics for one in results.values())
    assert config_of(tmp_path, "tensor_alone")["network_structure"] == "without_network"
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *options, "--resume", name=NIPEN)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


def test_settings_for_new_bills(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: dict[str, Any] = {}
    monkeypatch.setattr("ctxzoo.runs.many.run_all", lambda runs, *_: planned.update(runs))
    names = ["pgm_vae", "pgm_sdae_alone", "cdl"]
    datasets = ["roll_call", "roll_call_new_bills"]
    roll_call_nipen.main(roll_call_nipen.BASE, datasets, names)
    for name, chosen in (("pgm_vae", (12, 1e-2)), ("pgm_sdae_alone", (12, 1e-2)), ("cdl", (10, 1e-3))):
        on_new, usual = (planned[f"{dataset}, {name}"][0].experiment for dataset in datasets[::-1])
        assert on_new.data.configuration == "votes_new_bills"
        assert (on_new.trainer.epochs, on_new.optimizer.learning_rate) == chosen
        assert (usual.trainer.epochs, usual.optimizer.learning_rate) != chosen
        read = (on_new.model.amortized_bills, on_new.model.new_bill_rate)
        assert read == ((False, None) if name == "cdl" else (True, 1.0))
        assert "amortized_bills" not in usual.model.get_config_changes()
    roll_call_nipen.main(
        roll_call_nipen.BASE.copy_with(ideal_lambda=0.0), datasets, names[:2], (4,), 3, 0.5, ["topic_lambda=2"]
    )
    (run,) = planned["roll_call_new_bills, pgm_vae"]
    given = run.experiment
    assert (given.trainer.epochs, given.optimizer.learning_rate, given.seed) == (3, 0.5, 4)
    assert (given.model.ideal_lambda, given.model.num_topics, given.model.topic_lambda) == (0.0, 10, 2)


@pytest.mark.slow
def test_the_authors_weights_and_amortised_bills(tmp_path: Path) -> None:
    options = (*TINY, "--processes", "1", "--models", "pgm_vae", "--weights", "authors", "--amortized_bills", "true")
    run = recipe(tmp_path, *options, "--fields", "num_topics=2", "delta_lambda=0.5", "--name", "authors", name=NIPEN)
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert result.tag == "authors"
    assert result.settings["amortized_bills"] is True
    assert result.settings["delta_lambda"] == 0.5
    assert (result.settings["trust_lambda"], result.settings["weights"]) == (None, "authors")  # the config's own
    assert config_of(tmp_path, "pgm_vae")["trust_lambda"] == 1


def test_floors(tmp_path: Path) -> None:
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name=FLOORS)
    assert run.returncode == 0, run.stderr
    scores = {one.variant: one.metrics["test/log_likelihood"] for one in read_results(tmp_path / "results")}
    assert sorted(scores, key=lambda name: scores[name])[-1] == "bill_party_rate"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (NIPEN, ("--models", "narm"), "models='narm': expected one of pgm_sdae, pgm_sdae_alone"),
        (NIPEN, ("--weights", "mine"), "weights='mine': expected one of ours, authors"),
        (NIPEN, ("--fields", "num_topics"), "fields: 'num_topics'; expected name=number"),
        (NIPEN, ("--learning_rate", "0"), "learning_rate=0.0: expected more than 0"),
        (FLOORS, ("--models", "majority"), "models='majority': expected one of bill_rate, party_rate"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, name: str, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=name)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
