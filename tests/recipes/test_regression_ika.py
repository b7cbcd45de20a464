"""The recipe of regression, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from ctxzoo.runs.train import SETTINGS_FILE
from recipes.regression_ika import STUDY
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


def test_the_yaml_of_a_fold_starts_that_fold_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = "--dataset sample --models mikan --splits 3 --seeds 2 --tiny --rows_per_step 40 --p_norm 3 --name mine"
    STUDY.run(typed.split())
    (file,) = Path("runs").rglob(SETTINGS_FILE)
    STUDY.run([str(file), "--output_dir", "again", "--results_dir", "again/results"])
    (first,), (second,) = (list(Path(folder).rglob("model.safetensors")) for folder in ("runs", "again"))
    assert first.parents[1].name == second.parents[1].name == "mikan-sample-test-seed2-fold3-mine"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--models", "lasso"), "models='lasso': expected one of mean, ridge, gp_rbf, gp_sm, dot"),
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
