"""The end of a run: what it writes, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.results.result import read_results
from ctxzoo.runs import finish
from ctxzoo.runs.run import execute
from ctxzoo.tasks.text_classification.run import ClassifierRun
from ctxzoo.training.trainer import TrainerSettings
from tests.support.classifier_runs import with_spec


def tiny_run(folder: Path) -> ClassifierRun:
    quiet = {"epochs": 1, "accelerator": "cpu", "devices": 1, "tensorboard": False, "progress": False}
    values: dict[str, Any] = {
        "recipe": "texts",
        "architecture": "contextualizer",
        "variant": "recurrent",
        "dataset": "sample",
        "config": {"model_type": "ctxzoo_contextualizer", "word_dim": 12, "position_dim": 4, "rank": 8},
        "data": {"dataset": "sample", "folds": 2, "fold": 0},
        "task": {"optimizer": "adam", "learning_rate": 0.001},
        "trainer": TrainerSettings(**quiet, limit_train_batches=2, limit_eval_batches=1, precision="32-true"),
        "settings": {},
        "seed": 0,
        "fold": 0,
        "commit": "0123abc",
        "output_dir": str(folder / "runs"),
        "results_dir": str(folder / "results"),
    }
    return ClassifierRun(**with_spec(values))


def breaks(*arguments: Any, **options: Any) -> None:
    raise RuntimeError("it breaks")


@pytest.mark.parametrize(
    ("broken", "left"),
    [("write_checkpoint_folder", (False, 0)), ("write_result_file", (True, 0)), ("plot_learning_curves", (True, 1))],
)
def test_the_checkpoint_comes_first_then_the_results_then_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, left: tuple[bool, int]
) -> None:
    monkeypatch.setattr(finish, broken, breaks)
    run = tiny_run(tmp_path)
    with pytest.raises(RuntimeError, match="it breaks"):
        execute(run)
    assert ((run.spec.folder / "checkpoint").is_dir(), len(read_results(run.spec.results_dir))) == left
    if left[0]:
        check_checkpoint_folder(run.spec.folder / "checkpoint")


def test_the_title_of_the_scores_stays_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = tiny_run(tmp_path)
    result = run.spec.result(
        metrics={"validation/accuracy": 50.0, "test/accuracy": 40.0},
        parameters={"trainable": 1, "total": 1},
        fingerprint="",
        seconds=1.0,
        per_example=None,
    )
    finish.print_summary(result, run.spec, run.card)
    assert capsys.readouterr().out.splitlines()[0] == "contextualizer recurrent on sample, seed 0, fold 0"
