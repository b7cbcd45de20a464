"""The recipe of regression, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NAME = "regression_ika"


@pytest.mark.slow
def test_models_and_baselines_are_one_table_on_both_protocols(tmp_path: Path) -> None:
    options = (*TINY, "--processes", "1", "--models", "ridge", "dot", "mikan", "--splits", "0", "1")
    run = recipe(tmp_path, *options, name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert sorted((one.variant, one.fold) for one in results) == [
        (name, fold) for name in ("dot", "mikan", "ridge") for fold in (0, 1)
    ]
    again = recipe(tmp_path, *options, "--protocol", "best_test", name=NAME)
    assert again.returncode == 0, again.stderr
    named = [one for one in read_results(tmp_path / RESULTS_DIR) if one.tag == "best_test"]
    assert len(named) == 6
    for one in named:
        if one.architecture == "kernel_encoder":
            assert one.metrics["test/rmse"] == pytest.approx(one.metrics["validation/rmse"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--models", "lasso"), "models: 'lasso' is not one of mean, ridge, gp_rbf, gp_sm, dot"),
        (("--splits", "first"), "splits: 'first' is neither a number from 0 nor own"),
        (("--protocol", "lucky"), "protocol='lucky': expected one of validation, best_test"),
        (("--protocol", "best_test", "--score", "validation"), "the epoch is chosen on test rows"),
        (("--p_norm", "0"), "p_norm=0.0: expected more than 0"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name=NAME)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
