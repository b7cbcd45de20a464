"""The recipe of encodings of time, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NAME = "badges_lste"


@pytest.mark.slow
def test_encodings_and_floors_are_one_table_and_resume_keeps_them(tmp_path: Path) -> None:
    options = (*TINY, "--processes", "1", "--encodings", "positional", "mercer", "lste_behaviour")
    run = recipe(tmp_path, *options, name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert sorted(one.variant for one in results) == ["lste_behaviour", "markov", "mercer", "pop", "positional"]
    assert "sample, lste_behaviour" in run.stdout
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *options, "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--encodings", "moon"), "unknown variant 'moon' of time_encoder; known: none, positional, bochner"),
        (("--floors", "majority"), "floors='majority': expected one of pop, markov, none"),
        (("--time_combine", "mix"), "time_combine='mix': expected one of kernel, multiply, add, concat"),
        (("--num_components", "0"), "num_components=0: expected 1 or more"),
        (("--max_length", "0"), "max_length=0: expected 1 or more"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=NAME)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
