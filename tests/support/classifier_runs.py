"""`execute` of a tiny model on the generated sample, as a program that Lightning can start again.

`python -m tests.support.classifier_runs <folder> [devices] [eval_batch_size] [epochs]`
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.runs.experiment import ClassifierOptimizer, Experiment, RunArgs, TrainerArgs
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import PROBLEM, TextData, TextModel, TextStart
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION


def classifier_run(folder: Path, *, devices: int = 1, **changes: Any) -> ExperimentRun:
    """One training on four batches of texts of the sample."""
    experiment = Experiment(
        problem=PROBLEM,
        recipe="tiny_runs",
        data=TextData(batch_size=8),
        model=TextModel(architecture="text_baseline", variant="mean", word_dim=6, position_dim=0),
        optimizer=ClassifierOptimizer(learning_rate=0.01),
        trainer=TrainerArgs(epochs=1, tiny=True),
        start=TextStart(),
        run=RunArgs(
            accelerator="cpu",
            devices=str(devices),
            tensorboard=False,
            progress=False,
            output_dir=str(folder / "runs"),
            results_dir=str(folder / "results"),
        ),
        commit="0123abc",
    )
    return ExperimentRun(TEXT_CLASSIFICATION, experiment.copy_with(**changes))


@dataclass(frozen=True)
class SlowToFinish(ExperimentRun):
    """The first process takes its time to write; the others must not read before."""

    eval_batch_size: int = 64

    def build_data(self) -> Any:
        data = super().build_data()
        data.eval_batch_size = self.eval_batch_size
        return data

    def finish(self, *arguments: Any) -> None:
        if rank_zero_only.rank == 0:
            time.sleep(3)
        super().finish(*arguments)


if __name__ == "__main__":
    torch.set_num_threads(1)
    options = dict(zip(("devices", "eval_batch_size", "epochs"), map(int, sys.argv[2:]), strict=False))
    folder = Path(sys.argv[1])
    size = {"eval_batch_size": options.pop("eval_batch_size")} if "eval_batch_size" in options else {}
    run = SlowToFinish(**vars(classifier_run(folder, **options)), **size)
    try:
        result = execute(run)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    # A file for each process: lines that two print at once can get into each other.
    (folder / f"read_by_{rank_zero_only.rank}.json").write_text(json.dumps(result.metrics), encoding="utf-8")
