"""The recipe of pretrained encoders, in a process of its own, with a tiny random BERT on the generated sample."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from transformers import pipeline

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_process import TINY, recipe
from tests.support.tiny_bert import save_tiny_bert

RUN = Path("runs") / "document_bert" / "tiny-bert-sample-test-seed0"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipe")
    run = recipe(folder, *TINY, "--model", str(save_tiny_bert(folder / "tiny-bert")), name="document_bert")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def test_a_pretrained_encoder_trains_and_leaves_results(finished: Path) -> None:
    (result,) = read_results(finished / RESULTS_DIR)
    assert (result.recipe, result.architecture, result.variant) == ("document_bert", "bert", "tiny-bert")
    assert {
        f"{split}/{name}" for split in ("validation", "test") for name in ("accuracy", "macro_f1", "nll")
    } <= result.metrics.keys()
    assert "validation/epoch1/accuracy" in result.metrics
    expected = {"init_from": "tiny-bert", "optimizer": "adam", "learning_rate": 5e-6, "gradient_clip": 1.0}
    assert expected.items() <= result.settings.items()
    assert str(finished) not in json.dumps(result.settings) + result.command


def test_the_checkpoint_folder_loads_with_transformers_alone(finished: Path) -> None:
    (prediction,) = pipeline("text-classification", model=str(finished / RUN / "checkpoint"))("the screen is not good")
    assert prediction["label"] in ("negative", "positive")
    assert str(finished) not in (finished / RUN / "checkpoint" / "config.json").read_text()


@pytest.mark.slow
def test_a_run_without_its_results_goes_on_to_the_same_numbers(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (before,) = read_results(tmp_path / RESULTS_DIR)
    shutil.rmtree(tmp_path / RESULTS_DIR)
    run = recipe(tmp_path, *TINY, "--model", "tiny-bert", "--resume", name="document_bert")
    assert run.returncode == 0, run.stdout + run.stderr
    (after,) = read_results(tmp_path / RESULTS_DIR)
    assert after.metrics == before.metrics


@pytest.mark.slow
def test_a_missing_model_is_an_error_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = recipe(tmp_path, *TINY, "--model", "nobody/nothing", name="document_bert")
    assert run.returncode == 1
    assert run.stderr.splitlines()[0].startswith("error: ")
    assert not (tmp_path / RESULTS_DIR).exists()
