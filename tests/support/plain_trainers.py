"""DataModule and Task of every problem in a Trainer as a user builds it, on one device or several.

`python -m tests.support.plain_trainers <folder> <devices> [problem …]` leaves `<devices>-<rank>.json` in the folder:
problem to what `scores_and_rows` gives.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.runs.own_data import OwnArgs, prepare_user_splits, set_user_rows
from ctxzoo.runs.train import ExperimentRun
from tests.support.own_trainings import ALL_PROBLEMS, own_experiment

# Those that a Trainer of a user's own trains; word vectors have a loop of their own.
LIGHTNING_PROBLEMS = {one.name: one for one in ALL_PROBLEMS if one.name != "fill-mask"}


def tiny_run(problem: Any, folder: Path, data: str = "sample") -> tuple[ExperimentRun, OwnSplits]:
    """A tiny training on data that is divided into the three splits, and how."""
    experiment = own_experiment(problem, data, tiny=True, output_dir=str(folder), devices="1")
    splits = prepare_user_splits(problem, experiment, OwnArgs())
    return ExperimentRun(problem, set_user_rows(experiment, splits)), splits


def scores_and_rows(run: Any, trainer: lightning.Trainer) -> dict[str, Any]:
    """Score the untrained model, then predict, train and validate.

    Args:
        run: Run of a problem.
        trainer: A user's own.

    Returns:
        Test `scores` before training; the `rows` that were predicted; the scores of validation after it.
    """
    data = with_batches_of(run, 8).build_data()  # so that each process has one to train on
    data.setup()
    lightning.seed_everything(0, verbose=False)
    task = run.build_task(data, 1)
    (scores,) = trainer.test(task, datamodule=data, verbose=False)
    predicted: Any = trainer.predict(task, datamodule=data)
    rows = [row for batch in predicted for row in batch["lines" if "lines" in batch else "row"].flatten().tolist()]
    trainer.fit(task, datamodule=data)
    (validated,) = trainer.validate(task, datamodule=data, verbose=False)
    return {"scores": scores, "rows": rows, "validated": validated}


def with_batches_of(run: ExperimentRun, size: int) -> ExperimentRun:
    """The run with another batch size, where a step is no sequence of rows."""
    if "rows_per_step" in run.experiment.groups():
        return run
    return replace(run, experiment=run.experiment.copy_with(batch_size=size))


def with_data(run: ExperimentRun, path: Path) -> ExperimentRun:
    """The run on data that its DataModule reads and divides itself."""
    return replace(run, experiment=run.experiment.copy_with(dataset=str(path), rows=""))


def plain_trainer(folder: Path, **options: Any) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu",
        max_epochs=1,
        limit_train_batches=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder, devices, problems = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(LIGHTNING_PROBLEMS)
    rank = int(os.environ.get("LOCAL_RANK", 0))
    found = {}
    with collect_reading_notes():
        for problem in problems:
            run, _ = tiny_run(LIGHTNING_PROBLEMS[problem], folder / f"data{rank}")
            options = {} if devices == 1 else {"devices": devices, "strategy": "ddp"}
            found[problem] = scores_and_rows(run, plain_trainer(folder, **{"devices": 1, **options}))
            print(rank_zero_only.rank, problem, found[problem]["scores"], flush=True)
    (folder / f"{devices}-{rank_zero_only.rank}.json").write_text(json.dumps(found), encoding="utf-8")
