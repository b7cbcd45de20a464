"""Small trainings of texts and lines from a stream, resumed where they stopped, here or in a program of their own.

`python -m tests.support.streamed_runs <problem> <data> <output> [key=value …]` is the same as a program.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.data import stream_pass
from ctxzoo.tasks import get_problem
from ctxzoo.training.callbacks import ResumeCheckpoint
from ctxzoo.training.trainer import LAST, TrainerSettings, build_trainer
from tests.support.own_trainings import own_experiment

BLOCK = 20  # rows of a block, in place of a thousand
LABELS = ("good", "bad", "fair")


def write_texts(folder: Path, rows: int, *, files: int = 3, **further: Any) -> Path:
    """Write Parquet files of texts; a text's label is its first word, and every tenth text stands there twice."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    texts = [
        f"{LABELS[row % 3]} {' '.join(f'w{word}' for word in generator.integers(0, 40, generator.integers(1, 9)))}"
        for row in range(rows)
    ]
    for row in range(9, rows, 10):
        texts[row] = texts[row - 1]
    labels = [text.split()[0] for text in texts]
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        table = {"text": [texts[row] for row in part], "label": [labels[row] for row in part]}
        pq.write_table(pa.table(table), folder / f"train-{number}.parquet", **further)
    return folder


def use_small_blocks() -> None:
    """Let passes of this program write blocks of `BLOCK` rows and check few rows at a time."""
    write_stream = stream_pass.write_stream
    stream_pass.write_stream = lambda *args, **options: write_stream(*args, **{"block": BLOCK, **options})
    stream_pass.CHUNK = 33


def train(
    problem_name: str, dataset: Path, output: Path, *, epochs: int = 2, num_workers: int = 0, **settings: Any
) -> lightning.Trainer:
    """Train from `last.ckpt` where there is one, else from the first step.

    Args:
        problem_name: Name of the problem.
        dataset: Folder of files.
        output: Output of `build_trainer`.
        epochs: Number of epochs.
        num_workers: Workers of the DataModule.
        settings: Changed fields of `TrainerSettings`.
    """
    torch.set_num_threads(1)
    problem = get_problem(problem_name)
    small = {"wide": False, "vector_words": 0, "word_vectors": None} if problem_name == "text-classification" else {}
    experiment = own_experiment(
        problem, str(dataset), tiny=True, streaming=True, shuffle_buffer=3 * BLOCK, batch_size=8, **small
    )
    data: Any = problem.build_data_module(experiment)
    data.num_workers = num_workers
    data.prepare_data()
    data.setup()
    lightning.seed_everything(1, verbose=False)
    task = problem.build_module(experiment, data)
    defaults: dict[str, Any] = {"precision": "32-true", "ema_decay": 0.9, "accelerator": "cpu", "devices": 1}
    quiet: dict[str, Any] = {"tensorboard": False, "progress": False, "checkpoint_every": 2}
    trainer = build_trainer(
        TrainerSettings(**{"epochs": epochs, **defaults, **quiet, **settings}),
        output,
        task.monitor,
        lower_is_better=task.is_lower_better(task.monitor),
    )
    for callback in trainer.callbacks:
        if isinstance(callback, ResumeCheckpoint):
            callback.seconds = 0.0
    last = output / "lightning" / LAST
    trainer.fit(task, data, ckpt_path=last if last.exists() else None, weights_only=True if last.exists() else None)
    return trainer


if __name__ == "__main__":
    use_small_blocks()
    options = {key: json.loads(value) for key, value in (item.split("=", 1) for item in sys.argv[4:])}
    train(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), **options)
