"""The recipes of language modelling, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, TRIALS, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NAME, FLOORS = "ptb_beta_lstm", "ptb_floors"
OPTIONS = (*TINY, "--processes", "1", "--cells", "lstm", "bibeta5_prior")


@pytest.mark.slow
def test_cells_are_trained_and_resume_keeps_them(tmp_path: Path) -> None:
    run = recipe(tmp_path, *OPTIONS, "--seeds", "0", "1", name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert sorted((one.variant, one.seed) for one in results) == [
        ("bibeta5_prior", 0),
        ("bibeta5_prior", 1),
        ("lstm", 0),
        ("lstm", 1),
    ]
    assert {one.variant: one.settings["kl_lambda"] for one in results} == {"lstm": 0.0, "bibeta5_prior": 1e-3}
    assert "sample, lstm" in run.stdout
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    gone = next(file for file in before if file.name == "lstm-sample-test-seed1.json")
    gone.unlink()
    again = recipe(tmp_path, *OPTIONS, "--seeds", "0", "1", "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items() if file != gone)
    assert sorted(one.metrics["test/perplexity"] for one in read_results(tmp_path / RESULTS_DIR)) == pytest.approx(
        sorted(one.metrics["test/perplexity"] for one in results)
    )


@pytest.mark.slow
def test_settings_are_chosen_on_validation(tmp_path: Path) -> None:
    run = recipe(
        tmp_path, *OPTIONS[:-1], "--score", "validation", "--results_dir", f"{RESULTS_DIR}/{TRIALS}", name=NAME
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(tmp_path / RESULTS_DIR / TRIALS)
    assert result.split == "validation"
    assert not any(name.startswith("test/") for name in result.metrics)


def test_floors(tmp_path: Path) -> None:
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false", "--score", "validation")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name=FLOORS)
    assert run.returncode == 0, run.stderr
    results = read_results(tmp_path / "results")
    scores = {one.variant: one.metrics["validation/perplexity"] for one in results}
    assert scores["kneser_ney_5"] < scores["bigram"] < scores["unigram"]
    assert not any(name.startswith("test/") for one in results for name in one.metrics)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (NAME, ("--cells", "gru"), "unknown cell 'gru'; known: lstm, "),
        (NAME, ("--bptt", "0"), "bptt=0: expected 1 or more"),
        (NAME, ("--locked_dropout", "1"), "locked_dropout=1.0: expected 0 or more, and less than 1"),
        (NAME, ("--kl_lambda", "-1"), "kl_lambda=-1.0: expected 0 or more"),
        (FLOORS, ("--models", "trigram"), "models='trigram': expected one of unigram, bigram, kneser_ney_5"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, name: str, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=name)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
