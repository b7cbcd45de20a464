"""A small training that can be stopped at a chosen moment and resumed, in this process or in one of its own.

`python -m tests.support.training_runs <data> <output> [key=value …]` is the same as a program.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import lightning
import torch

from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.callbacks import ResumeCheckpoint
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer
from tests.support.tiny_squad import tiny_config, tiny_data

EPOCHS, STEPS_PER_EPOCH, CHECKPOINT_EVERY = 3, 5, 2


@dataclass(frozen=True)
class Stop:
    """The moment at which this process sends itself a signal.

    Attributes:
        signal: Number of the signal; 0 raises an error instead.
        moment: "step" (a batch is done, nothing else of its end), "validation" (its first batch is done), "epoch end"
            (before anything else of it), or "writing" (half of a checkpoint is on disk).
        step: Optimizer steps done by then.
        times: How often the signal is sent.
    """

    signal: int
    moment: str
    step: int
    times: int = 1


class StoppedError(Exception):
    """Raised instead of sending a signal."""


class _StopHere(lightning.Callback):
    def __init__(self, stop: Stop) -> None:
        self.stop = stop

    def on_train_batch_end(self, trainer: Any, *args: Any) -> None:
        self._come_to("step", trainer)

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx == 0:
            self._come_to("validation", trainer)

    def on_train_epoch_end(self, trainer: Any, *args: Any) -> None:
        self._come_to("epoch end", trainer)

    def on_save_checkpoint(self, trainer: Any, *args: Any) -> None:
        if self.stop.moment == "writing" and trainer.global_step >= self.stop.step:
            write = torch.save

            def write_half(content: Any, target: Any) -> None:
                buffer = BytesIO()
                write(content, buffer)
                with open(target, "wb") if isinstance(target, (str, os.PathLike)) else target as file:
                    file.write(buffer.getvalue()[: buffer.tell() // 2])
                    file.flush()
                    self._now()

            torch.save = write_half

    def _come_to(self, moment: str, trainer: Any) -> None:
        if (moment, trainer.global_step) == (self.stop.moment, self.stop.step):
            self._now()

    def _now(self) -> None:
        if self.stop.signal == 0:
            raise StoppedError
        for _ in range(self.stop.times):
            os.kill(os.getpid(), self.stop.signal)


def train(
    data_folder: Path,
    output: Path,
    stop: Stop | None = None,
    *,
    learning_rate: float = 0.01,
    eval_batch_size: int = 8,
    model: dict[str, Any] | None = None,
    epoch_seconds: float = 0.0,
    **settings: Any,
) -> lightning.Trainer:
    """Train from `last.ckpt` where there is one, else from the first step: dropout, EMA, schedule, validation.

    Args:
        data_folder: Argument of `tiny_data`.
        output: Output of `build_trainer`.
        stop: Where to send a signal.
        learning_rate: Learning rate of AdamW.
        eval_batch_size: Eval batch size of the data.
        model: Changed fields of the model's config.
        epoch_seconds: Argument of `ResumeCheckpoint`.
        settings: Changed fields of `TrainerSettings`.
    """
    torch.set_num_threads(1)
    lightning.seed_everything(1, verbose=False)
    data = tiny_data(data_folder, eval_batch_size=eval_batch_size)
    data.prepare_data()
    data.setup()
    task = QuestionAnsweringTask(
        model_config=tiny_config(data, **{"dropout": 0.3, **(model or {})}),
        optimizer="adamw",
        learning_rate=learning_rate,
        warmup_steps=3,
        decay_steps=30,
    )
    defaults: dict[str, Any] = {
        "epochs": EPOCHS,
        "precision": "32-true",
        "ema_decay": 0.9,
        "checkpoint_every": CHECKPOINT_EVERY,
        "accelerator": "cpu",
        "devices": 1,
        "tensorboard": False,
        "progress": False,
    }
    trainer = build_trainer(TrainerSettings(**{**defaults, **settings}), output, "validation/f1")
    for callback in trainer.callbacks:
        if isinstance(callback, ResumeCheckpoint):
            callback.seconds = epoch_seconds
    if stop is not None:
        trainer.callbacks.insert(0, _StopHere(stop))
    last = output / "lightning" / LAST
    trainer.fit(task, data, ckpt_path=last if last.exists() else None)
    return trainer


def train_apart(data_folder: Path, output: Path, stop: Stop | None = None, **settings: Any) -> int | None:
    """Run `train` in a process of its own; return its exit status."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.training_runs"])  # import torch once for all processes
    process = context.Process(target=train, args=(data_folder, output, stop), kwargs=settings)
    process.start()
    process.join(300)
    assert process.exitcode is not None, "the training hangs"
    return process.exitcode


def result(output: Path) -> dict[str, Any]:
    """Return what a training leaves: trained and averaged weights, optimizer, schedule, counters and the best epoch."""
    last = torch.load(output / "lightning" / LAST, weights_only=True)
    best = torch.load(output / "lightning" / BEST, weights_only=True)
    kept = ("state_dict", "current_model_state", "averaging_state", "optimizer_states", "lr_schedulers", "epoch")
    return {name: last[name] for name in (*kept, "global_step")} | {f"best {name}": best[name] for name in kept}


def differences(one: Any, other: Any, name: str = "") -> list[str]:
    """Return the names of the entries in which two results differ by as much as a bit."""
    if isinstance(one, torch.Tensor):
        return [] if torch.equal(one, other) else [name]
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return [f"{name}: {sorted(one)} and {sorted(other)}"]
        return [found for key in one for found in differences(one[key], other[key], f"{name}/{key}")]
    if isinstance(one, (list, tuple)):
        if len(one) != len(other):
            return [f"{name}: {len(one)} and {len(other)} entries"]
        return [found for number in range(len(one)) for found in differences(one[number], other[number], name)]
    return [] if one == other else [f"{name}: {one} and {other}"]


if __name__ == "__main__":
    options = {key: json.loads(value) for key, value in (item.split("=", 1) for item in sys.argv[3:])}
    train(Path(sys.argv[1]), Path(sys.argv[2]), **options)
