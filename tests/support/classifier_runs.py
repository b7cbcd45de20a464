"""`execute` of a tiny model on the generated sample, as a program that Lightning can start again.

`python -m tests.support.classifier_runs <folder> [devices] [eval_batch_size] [epochs]`
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.runs.run import execute
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.text_classification.run import ClassifierRun
from ctxzoo.training.trainer import TrainerSettings


def classifier_run(
    folder: Path, *, devices: int = 1, eval_batch_size: int = 64, epochs: int = 1, **changes: Any
) -> ClassifierRun:
    """One training on two batches of texts of the sample."""
    trainer = TrainerSettings(
        epochs=epochs,
        precision="32-true",
        ema_decay=0.0,
        seed=0,
        accelerator="cpu",
        devices=devices,
        tensorboard=False,
        progress=False,
        limit_train_batches=2,
    )
    values: dict[str, Any] = {
        "recipe": "tiny_runs",
        "architecture": "text_baseline",
        "variant": "mean",
        "dataset": "sample",
        "config": {"model_type": "ctxzoo_text_baseline", "word_dim": 6, "position_dim": 0, "encoder": "mean"},
        "data": {"dataset": "sample", "batch_size": 8, "eval_batch_size": eval_batch_size, "seed": 0},
        "task": {"learning_rate": 0.01},
        "trainer": trainer,
        "settings": {"epochs": epochs, "tiny": True, "freeze_embeddings": False},
        "seed": 0,
        "fold": None,
        "commit": "0123abc",
        "output_dir": str(folder / "runs"),
        "results_dir": str(folder / "results"),
    }
    return ClassifierRun(**with_spec({**values, **changes}))


def with_spec(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a run, those of its spec put together."""
    names = {one.name for one in fields(RunSpec)}
    spec = RunSpec(**{name: value for name, value in values.items() if name in names})
    return {"spec": spec, **{name: value for name, value in values.items() if name not in names}}


class SlowToFinish(ClassifierRun):
    """The first process takes its time to write; the others must not read before."""

    def finish(self, *arguments: Any) -> None:
        if rank_zero_only.rank == 0:
            time.sleep(3)
        super().finish(*arguments)


if __name__ == "__main__":
    torch.set_num_threads(1)
    options = dict(zip(("devices", "eval_batch_size", "epochs"), map(int, sys.argv[2:]), strict=False))
    folder = Path(sys.argv[1])
    run = SlowToFinish(**vars(classifier_run(folder, **options)))
    try:
        result = execute(run)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    # A file for each process: lines that two print at once can get into each other.
    (folder / f"read_by_{rank_zero_only.rank}.json").write_text(json.dumps(result.metrics), encoding="utf-8")
