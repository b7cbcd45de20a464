"""What tells one training of a user's data from another, for every problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.runs.own_data import set_user_rows
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.question_answering.sample import sample_squad
from ctxzoo.tasks.word_embeddings.run import build_training_settings
from tests.support.own_trainings import each_problem, own_experiment


def splits_named(problem: Any, name: str) -> OwnSplits:
    """Rows of which nothing is read but the last column of a regression, names of tags, and answers of questions."""
    folder = Path("runs") / f"train_{problem.name.replace('-', '_')}" / name
    folder.mkdir(parents=True)
    rows = datasets.Dataset.from_dict({"a": [1.0], "b": [2.0]})
    if problem.name == "question-answering":
        rows = sample_squad(train=2, validation=1, test=1)["train"]
    if problem.name == "token-classification":
        tags = datasets.List(datasets.ClassLabel(names=["B-place", "O"]))
        features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "tags": tags})
        rows = datasets.Dataset.from_dict({"tokens": [["a", "b"]], "tags": [["O", "B-place"]]}, features=features)
    if problem.name == "text-classification":
        features = datasets.Features(
            {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
        )
        rows = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}, features=features)
    if problem.name == "vote-prediction":
        rows = datasets.Dataset.from_dict({"legislator": ["a"], "bill": ["b"], "vote": [1]})
    rows.to_parquet(folder / "train.parquet")
    return OwnSplits(folder=folder, lines=(), sizes={}, drawn=("validation", "test"))


@each_problem
def test_other_rows_have_a_place_of_their_own_and_the_seed_reaches_every_part(
    problem: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    both = [splits_named(problem, name) for name in ("data-0123", "data-4567")]
    experiment = own_experiment(problem, "mine.csv", seed=3)
    run, other = (ExperimentRun(problem, set_user_rows(experiment, splits)) for splits in both)
    assert run.folder != other.folder
    assert run.results_file != other.results_file
    assert run.folder.name.endswith("-seed3-data-0123")
    asked = experiment.copy_with(replace=True)
    replaced = [ExperimentRun(problem, set_user_rows(asked, splits)) for splits in both]
    assert replaced[0].folder == replaced[1].folder
    assert replaced[0].settings != replaced[1].settings  # so that neither is taken for the other where one is resumed
    own = build_training_settings(run.experiment) if problem.name == "fill-mask" else run.build_data()
    assert {run.experiment.seed, run.trainer.seed, own.seed} == {3}
