"""Scores of a model of polyphonic music on a split, and of each of its pieces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.task import PolyphonicMusicTask
from ctxzoo.training.scoring import build_scorer, score_splits, task_of


@dataclass(frozen=True)
class PieceScore:
    """The score of one piece.

    Attributes:
        row: of the piece in its split.
        steps: that are predicted.
        nll: negative log-likelihood of the piece, in nats, the sum over its steps.
    """

    row: int
    steps: int
    nll: float


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    config_name: str | None = None,
    steps_per_beat: float = 2.0,
    step_seconds: float | None = None,
    batch_size: int = 8,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of polyphonic music on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated music.
        split: name of a split, as the DataModule has it.
        tokenizer: none; music is no text.
        data_dir, config_name, steps_per_beat, step_seconds: of `PolyphonicMusicDataModule`.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `nll`, in nats of a step, and `frame_accuracy`, in percent; see `MusicScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem.
    """
    data = PolyphonicMusicDataModule(
        dataset,
        data_dir=data_dir,
        config_name=config_name,
        steps_per_beat=steps_per_beat,
        step_seconds=step_seconds,
        eval_batch_size=batch_size,
        divide=False,
    )
    data.setup()
    task = task_of(PolyphonicMusicTask, checkpoint)
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def piece_scores(
    model: PreTrainedModel, data: PolyphonicMusicDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[PieceScore]:
    """Return the score of each piece of a split, by row, for paired tests of two models.

    Args:
        model: a head of polyphonic music.
        data: after `setup`.
        split: name of a split, as the DataModule has it.
        accelerator: how to run.

    Raises:
        ValueError: no such split; a model of another problem.
    """
    task: Any = task_of(PolyphonicMusicTask, model)
    device = model.device
    trainer = build_scorer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    model.to(device)  # Lightning leaves it on the CPU
    scores = [
        PieceScore(row, steps, nll)
        for batch in batches
        for row, steps, nll in zip(*(batch[name].tolist() for name in ("row", "steps", "nll")), strict=True)
    ]
    return sorted(scores, key=lambda score: score.row)
