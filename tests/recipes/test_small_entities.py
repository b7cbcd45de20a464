from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes.small_entities import mark_runs
from tests.support.recipe_process import recipe


def test_runs_of_a_tag_are_spans() -> None:
    assert mark_runs([5, 7, 7, 5, 7, 5, 5, 7], 7) == [0, 1, 2, 0, 1, 0, 0, 1]


@pytest.mark.slow
def test_every_model_is_scored_on_the_same_rows(tmp_path: Path) -> None:
    quick = ("--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")
    run = recipe(tmp_path, "--datasets", "sample", "--train_rows", "40", "--seeds", "0", *quick, name="small_entities")
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert {result.variant for result in results} == {"default", "random_field"}
    assert {result.tag for result in results} == {"rows40"}
    assert len({result.metrics["test/spans"] for result in results}) == 1
    assert all("test/span_f1_NAME" in result.metrics for result in results)
