"""The recipes of polyphonic music, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, TRIALS, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NAME, FLOORS = "music_beta_lstm", "music_floors"
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
    assert "sample, lstm" in run.stdout
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    gone = next(file for file in before if file.name == "lstm-sample-test-seed1.json")
    gone.unlink()
    again = recipe(tmp_path, *OPTIONS, "--seeds", "0", "1", "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items() if file != gone)
    assert sorted(one.metrics["test/nll"] for one in read_results(tmp_path / RESULTS_DIR)) == pytest.approx(
        sorted(one.metrics["test/nll"] for one in results)
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
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name=FLOORS)
    assert run.returncode == 0, run.stderr
    scores = {one.variant: one.metrics["test/nll"] for one in read_results(tmp_path / "results")}
    assert set(scores) == {"key_frequency", "key_markov"}
    assert scores["key_markov"] < scores["key_frequency"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (NAME, ("--cells", "gru"), "unknown cell 'gru'; known: lstm, "),
        (NAME, ("--learning_rate", "0"), "learning_rate=0.0: expected more than 0"),
        (NAME, ("--kl_lambda", "-1"), "kl_lambda=-1.0: expected 0 or more"),
        (NAME, ("--gate_sampling", "never"), "gate_sampling='never': expected one of auto, mean"),
        (NAME, ("--divide_by", "0.5"), "divide_by=0.5: expected 1 or more"),
        (FLOORS, ("--models", "majority"), "models='majority': expected one of key_frequency, key_markov"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, name: str, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=name)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
