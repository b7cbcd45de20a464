"""The results file's content of a training: what a run of any model is told by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import lightning

from ctxzoo.results.environment import command_line, hardware, peak_memory_mb, public_name, versions
from ctxzoo.results.learning_curve import losses_by_epoch, scores_by_epoch
from ctxzoo.results.result import RunResult
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
    *,
    folder: Path,
    curves: Sequence[str],
    recipe: str,
    architecture: str,
    variant: str,
    seed: int,
    commit: str,
    settings: dict[str, Any],
    fold: int | None = None,
    tag: str = "",
    split: str = "test",
) -> RunResult:
    """What a finished training says of itself.

    Args:
        task, data, trainer: of the run.
        scores: split name to metrics.
        folder: of the run, with its log.
        curves: metrics of validation of which every epoch's is told.
        recipe, architecture, variant, seed, commit, settings, fold, tag, split: see `RunResult`.
    """
    log = folder / CSV_LOG
    parameters = list(task.model.parameters())
    return RunResult(
        recipe=recipe,
        architecture=architecture,
        variant=variant,
        dataset=public_name(data.dataset),
        split=split,
        fold=fold,
        seed=seed,
        metrics={
            **{f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            **losses_by_epoch(log),
            **scores_by_epoch(log, curves),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
        },
        settings=settings,
        parameters={
            "trainable": sum(p.numel() for p in parameters if p.requires_grad),
            "total": sum(p.numel() for p in parameters),
        },
        command=command_line(),
        commit=commit,
        data={"source": public_name(data.dataset), "fingerprint": data.fingerprint},
        hardware=hardware(),
        versions=versions(),
        wall_seconds=training_seconds(trainer),
        peak_memory_mb=peak_memory_mb(),
        tag=tag,
    )
