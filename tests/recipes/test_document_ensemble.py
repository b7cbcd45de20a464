"""The recipe that scores several seeds as one, on what the recipe of documents leaves on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_result
from ctxzoo.tasks.text_classification.task import evaluate_ensemble
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

TRAINING = ("--dataset", "sample", "--model", "lama", "--epochs", "1", "--recurrent_size", "6", "--no_word2vec")
TRAINING += ("--processes", "1", "--progress", "false", "--tensorboard", "false", "--seeds", "0", "1", "--name", "a")


pytestmark = pytest.mark.slow  # the members are trained first


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ensemble")
    run = recipe(folder, *TRAINING, name="document_lama")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


OPTIONS = ("--dataset", "sample", "--model", "lama", "--progress", "false")


def together(folder: Path, *arguments: str) -> tuple[int, str]:
    run = recipe_here(folder, *OPTIONS, *arguments, name="document_ensemble")
    return run.returncode, run.stdout + run.stderr


def test_results_are_the_scores_of_the_checkpoints_together(trained: Path) -> None:
    run = recipe(trained, *OPTIONS, "--seeds", "1", "0", "--name", "a", name="document_ensemble")
    assert run.returncode == 0, run.stdout + run.stderr
    result = read_result(trained / RESULTS_DIR / "document_ensemble" / "lama-sample-test-seed0-a.json")
    names = [f"lama-sample-test-seed{seed}-a" for seed in (0, 1)]
    checkpoints = [str(trained / "runs" / "document_lama" / name / "checkpoint") for name in names]
    expected = evaluate_ensemble(checkpoints, "sample", ("validation", "test"), progress=False, max_length=512)
    for split, scores in expected.items():
        for name, value in scores.items():
            assert result.metrics[f"{split}/{name}"] == pytest.approx(value, rel=1e-4)
    member = read_result(trained / RESULTS_DIR / "document_lama" / f"{names[0]}.json")
    assert result.settings == {**member.settings, "seeds": [0, 1]}
    assert result.parameters["total"] == 2 * member.parameters["total"]
    assert result.data == member.data


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "0", "2", "--name", "a"), "--dataset sample --model lama --seeds 2 --name a and the settings"),
        (
            ("--seeds", "0", "1"),
            "no runs/results/document_lama/lama-sample-test-seed0.json; make it with: python recipes/do",
        ),
        (("--seeds", "0", "0", "--name", "a"), "the mean of one is that one"),
        (("--dataset", "sample2", "--name", "a"), "no runs/results/document_lama/lama-sample2-test-seed0-a.json"),
    ],
)
def test_what_is_missing_is_told(trained: Path, arguments: tuple[str, ...], message: str) -> None:
    status, printed = together(trained, *arguments)
    assert status != 0
    assert message in " ".join(printed.split())


def test_members_with_other_settings_are_refused(trained: Path) -> None:
    file = trained / RESULTS_DIR / "document_lama" / "lama-sample-test-seed1-a.json"
    content = json.loads(file.read_text())
    try:
        file.write_text(json.dumps({**content, "settings": {**content["settings"], "epochs": 2}}))
        status, printed = together(trained, "--seeds", "0", "1", "--name", "a")
    finally:
        file.write_text(json.dumps(content))
    assert status != 0
    assert "seeds 0 and 1 of lama on sample differ in their settings or data" in " ".join(printed.split())
