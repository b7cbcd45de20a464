"""What tells one training of a user's data from another, for every problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest

from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.tasks.question_answering.sample import sample_squad
from tests.support.own_trainings import each_training


def splits_named(training: Any, name: str) -> OwnSplits:
    """Rows that are nowhere read, but for the last column of a regression, and whether questions have answers."""
    folder = Path("runs") / f"train_{training.card.name.replace('-', '_')}" / name
    folder.mkdir(parents=True)
    rows = datasets.Dataset.from_dict({"a": [1.0], "b": [2.0]})
    if training.card.name == "question-answering":
        rows = sample_squad(train=2, validation=1, test=1)["train"]
    rows.to_parquet(folder / "train.parquet")
    return OwnSplits(folder=folder, lines=(), sizes={}, drawn=("validation", "test"))


@each_training
def test_other_rows_have_a_place_of_their_own_and_the_seed_reaches_every_part(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = splits_named(training, "data-0123"), splits_named(training, "data-4567")
    request = TrainingRequest(data="mine.csv", seed=3, accelerator="cpu")
    preset = training.preset("default", *training.default)
    run, other = (training.run(request, preset, splits) for splits in (first, second))
    assert run.spec.folder != other.spec.folder
    assert run.spec.results_file != other.spec.results_file
    assert run.spec.folder.name.endswith("-seed3-data-0123")
    asked = replace(request, replace=True)
    replaced = [training.run(asked, preset, splits).spec for splits in (first, second)]
    assert replaced[0].folder == replaced[1].folder
    assert replaced[0].settings != replaced[1].settings  # so that neither is taken for the other where one is resumed
    if isinstance(run, ExperimentRun):
        seeds = [run.trainer.seed, run.build_data().seed]
    else:
        seeds = [run.trainer.seed, run.data["seed"]] if hasattr(run, "trainer") else [run.training.seed]
    assert {run.spec.seed, *seeds} == {3}
