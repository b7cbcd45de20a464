"""The results file's content of a training: what a run of any model is told by."""

from __future__ import annotations

from typing import Any, Protocol

import lightning

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.learning_curve import losses_by_epoch, scores_by_epoch
from ctxzoo.results.result import RunResult
from ctxzoo.runs.spec import RunSpec
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import CSV_LOG, training_seconds


class RunData(Protocol):
    """A DataModule of the zoo, after `setup`."""

    dataset: str

    @property
    def fingerprint(self) -> str:
        """Content hashes of the splits."""

    @property
    def tokenizer(self) -> Any:
        """What turns texts into the model's inputs; None for an architecture that reads no text."""


def training_result(
    task: ZooTask,
    data: RunData,
    trainer: lightning.Trainer,
    scores: dict[str, dict[str, float]],
    spec: RunSpec,
    card: TaskCard,
) -> RunResult:
    """What a finished training says of itself.

    Args:
        task, data, trainer: of the run, whose log is in its folder.
        scores: split name to metrics.
        spec: of the run.
        card: of the problem; of its `curves` every epoch's is told.
    """
    log = spec.folder / CSV_LOG
    parameters = list(task.model.parameters())
    return spec.result(
        metrics={
            **{f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            **losses_by_epoch(log),
            **scores_by_epoch(log, card.curves),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
        },
        parameters={
            "trainable": sum(p.numel() for p in parameters if p.requires_grad),
            "total": sum(p.numel() for p in parameters),
        },
        fingerprint=data.fingerprint,
        seconds=training_seconds(trainer),
    )
