"""The end of a run: what it writes, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.results.result import read_results
from ctxzoo.runs import finish
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from tests.support.classifier_runs import classifier_run


def tiny_run(folder: Path) -> ExperimentRun:
    sizes = {"word_dim": 12, "position_dim": 4, "rank": 8}
    return classifier_run(folder, architecture="contextualizer", variant="recurrent", folds=2, fold=0, **sizes)


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
    assert ((run.folder / "checkpoint").is_dir(), len(read_results(run.experiment.run.results_dir))) == left
    if left[0]:
        check_checkpoint_folder(run.folder / "checkpoint")


def test_the_title_of_the_scores_stays_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = tiny_run(tmp_path)
    result = run.build_result(
        metrics={"validation/accuracy": 50.0, "test/accuracy": 40.0},
        parameters={"trainable": 1, "total": 1},
        fingerprint="",
        seconds=1.0,
        per_example=None,
    )
    finish.print_summary(result, run)
    assert capsys.readouterr().out.splitlines()[0] == "contextualizer recurrent on sample, seed 0, fold 0"
