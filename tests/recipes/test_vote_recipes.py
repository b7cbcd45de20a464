"""The recipes of vote prediction, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.recipes.test_mr_contextualizer import TINY, recipe
from tests.support.recipe_here import recipe_here

NIPEN, FLOORS = "roll_call_nipen", "roll_call_floors"


@pytest.mark.slow
def test_models_are_trained_and_resume_keeps_them(tmp_path: Path) -> None:
    models = ("pgm_sdae_low_rank", "tensor_alone", "ideal_point_network", "cdl")
    options = (*TINY, "--processes", "1", "--models", *models)
    run = recipe(tmp_path, *options, name=NIPEN)
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert sorted(results) == sorted(models)
    assert all("test/log_likelihood" in one.metrics for one in results.values())
    assert results["tensor_alone"].settings["network_structure"] == "without_network"
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *options, "--resume", name=NIPEN)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


@pytest.mark.slow
def test_the_authors_weights_and_amortised_bills(tmp_path: Path) -> None:
    options = (*TINY, "--processes", "1", "--models", "pgm_vae", "--weights", "authors", "--amortized_bills", "true")
    run = recipe(tmp_path, *options, "--fields", "num_topics=2", "delta_lambda=0.5", "--name", "authors", name=NIPEN)
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert result.tag == "authors"
    assert result.settings["amortized_bills"] is True
    assert result.settings["delta_lambda"] == 0.5
    assert "trust_lambda" not in result.settings  # the config's own


def test_floors(tmp_path: Path) -> None:
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name=FLOORS)
    assert run.returncode == 0, run.stderr
    scores = {one.variant: one.metrics["test/log_likelihood"] for one in read_results(tmp_path / "results")}
    assert sorted(scores, key=lambda name: scores[name])[-1] == "bill_party_rate"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (NIPEN, ("--models", "narm"), "models: unknown model 'narm'; known: pgm_sdae, pgm_sdae_alone"),
        (NIPEN, ("--weights", "mine"), "weights='mine': expected ours or authors"),
        (NIPEN, ("--fields", "num_topics"), "fields: 'num_topics'; expected name=number"),
        (NIPEN, ("--learning_rate", "0"), "learning_rate=0.0: expected more than 0"),
        (FLOORS, ("--models", "majority"), "'majority' is not one of bill_rate, party_rate"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, name: str, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=name)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
