"""Polyphonic music for Lightning: the likelihood of every step of a piece given those before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric
from torchmetrics.classification import BinaryJaccardIndex
from transformers import PreTrainedModel

from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.training.optimizers import DivideOnRise, OptimizerArgs
from ctxzoo.training.scoring import build_scoring_trainer, load_task, score_splits
from ctxzoo.training.task import AutoHead, Scores, ZooTask, select_model_inputs

Annealing = Literal["constant", "linear", "logistic"]
LOGISTIC_SLOPE = 0.2  # of the authors' code, for one epoch


class MusicScores(Scores):
    """Negative log-likelihood and frame accuracy over all steps of a split that are predicted.

    `nll`: nats of a step, the sum over its keys, over all steps and not a mean of pieces' means. `frame_accuracy`, in
    percent: of all keys that sound or are predicted to sound, those that are both, TP / (TP + FP + FN) over all steps
    (Bay, Ehmann and Downie 2009); a key is predicted with a probability above a half.
    """

    def __init__(self) -> None:
        super().__init__()
        # Other strategies leave steps with NaN out of the mean. This one knows no weights, so it gets every step's.
        self.nll = MeanMetric(nan_strategy="disable")
        self.overlap = BinaryJaccardIndex()

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add logits (N, 88) of steps with the labels (N, 88), 0 or 1."""
        self.nll.update(compute_step_losses(logits, labels))
        self.overlap.update((logits > 0).long(), labels.long())

    def compute(self) -> dict[str, float]:
        """Return the scores, by name, over all that was added."""
        return {"nll": float(self.nll.compute()), "frame_accuracy": 100.0 * float(self.overlap.compute())}


def compute_step_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return (N,) the negative log-likelihood of each step in nats, from logits and labels (N, 88)."""
    return F.binary_cross_entropy_with_logits(logits, labels, reduction="none").sum(dim=-1)


def compute_annealing_factor(kind: Annealing, epoch: int, epochs: int) -> float:
    """Return the fraction of the KL divergence's weight that counts in an epoch, as it is raised step by step.

    Args:
        kind: Schedule of the weight: "constant", 1; "linear", epoch / epochs up to 1; "logistic", 1 / (1 + exp(-0.2
            (epoch - epochs))).
        epoch: Number of the current epoch, from 0.
        epochs: Epoch at which the linear schedule reaches 1 and the logistic one 0.5.
    """
    if kind == "constant":
        return 1.0
    return min(1.0, epoch / epochs) if kind == "linear" else 1 / (1 + math.exp(-LOGISTIC_SLOPE * (epoch - epochs)))


class PolyphonicMusicTask(ZooTask):
    """Trains and scores a model that predicts the next step of a piece: which of 88 keys sound.

    A batch holds what `build_model_inputs` gives. The model's loss is in nats a step, its divergence from a prior
    included; the objective is the sum over a piece, the mean over the pieces of a batch, as in the authors' loop, so
    that `gradient_clip` means what it means there. Scores: those of `MusicScores`, without any divergence.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.
        divide_by: Divisor of the learning rate after an epoch whose validation score is worse than each of the three
            before, 1 or more, by `DivideOnRise`; 1: constant rate.
        divide_after: Number of first epochs in which the learning rate is never divided.
        kl_annealing: Schedule of the weight of the KL divergence over the epochs: "constant", "linear" or "logistic",
            as in `compute_annealing_factor`.
        kl_annealing_epochs: Epochs until the weight is full (linear) or half (logistic).

    Raises:
        ValueError: see `ZooTask` and `DivideOnRise`; two schedules; another kind of annealing.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    auto_class = AutoHead("polyphonic-music")
    monitor = "validation/nll"
    default_optimizer = OptimizerArgs(learning_rate=2e-3)

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        divide_by: float = 1.0,
        divide_after: int = 0,
        kl_annealing: Annealing = "constant",
        kl_annealing_epochs: int = 50,
        **optimizer_args: Any,
    ) -> None:
        if divide_by < 1 or divide_after < 0:
            raise ValueError(f"divide_by={divide_by}, divide_after={divide_after}: expected 1 or more, and 0 or more")
        if kl_annealing not in get_args(Annealing) or kl_annealing_epochs < 1:
            raise ValueError(
                f"kl_annealing={kl_annealing!r}, kl_annealing_epochs={kl_annealing_epochs}: expected one of "
                f"{', '.join(get_args(Annealing))}, and 1 or more"
            )
        super().__init__(model_config, pretrained, model=model, **optimizer_args)
        if divide_by > 1 and self.optimizer_args.has_schedule:
            raise ValueError(f"divide_by={divide_by} beside a warm-up, a decay or halve_after: choose one schedule")

    def configure_optimizers(self) -> Any:
        configured = super().configure_optimizers()
        if self.hparams["divide_by"] == 1:
            return configured
        optimizer = configured["optimizer"]
        schedule = DivideOnRise(
            optimizer, divisor=self.hparams["divide_by"], after=self.hparams["divide_after"], lower_is_better=True
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": self.monitor}}

    def build_scores(self) -> MusicScores:
        """Return empty scores of music models."""
        return MusicScores()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss for each piece, summed over its steps, with the KL divergence weighted by the epoch."""
        output = self.model(**select_model_inputs(batch))
        steps = batch["attention_mask"].sum()
        loss: torch.Tensor = output.loss
        weight = compute_annealing_factor(
            self.hparams["kl_annealing"], self.current_epoch, self.hparams["kl_annealing_epochs"]
        )
        if output.get("kl") is not None:
            divergence = output.kl.sum() / steps.clamp(min=1)
            self.log("train/kl", divergence, on_step=False, on_epoch=True, batch_size=len(output.kl), sync_dist=True)
            loss = loss + (weight - 1) * self.model.config.kl_lambda * divergence
        return loss * steps / len(batch["attention_mask"])

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        return f"pieces of the batch in the training split: {rows}"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return for each piece (B,) its row, its number of predicted steps, and its summed loss in nats, `nll`."""
        mask = batch["attention_mask"]
        losses = compute_step_losses(self._compute_logits(batch), batch["labels"]) * mask
        return {"row": batch["row"], "steps": mask.sum(dim=1), "nll": losses.sum(dim=1)}

    def update_scores(self, scores: MusicScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the steps of a batch to the scores, without the padding."""
        real = batch["attention_mask"].bool()
        scores.update(self._compute_logits(batch)[real], batch["labels"][real])

    def compute_scores(self, scores: MusicScores) -> dict[str, float]:
        """Return the scores by name."""
        return scores.compute()

    def _compute_logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of the keys (B, n, 88), in float32 also under mixed precision."""
        inputs = {name: value for name, value in select_model_inputs(batch).items() if name != "labels"}
        logits: torch.Tensor = self.model(**inputs).logits
        return logits.float()


@dataclass(frozen=True)
class PieceScore:
    """The score of one piece.

    Attributes:
        row: Row of the piece in its split, from 0.
        steps: Number of time steps that are predicted, all but the first.
        nll: Negative log-likelihood of the piece in nats, summed over its time steps.
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
    """Return a music model's scores on a split by name; for a checkpoint those that its training reported.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated music).
        split: Name of the split, such as "test".
        tokenizer: None; accepted for uniformity, since music has no tokenizer.
        data_dir, config_name, steps_per_beat, step_seconds: Folder of datasets, name of the configuration, and time
            grid for MIDI files, as in `PolyphonicMusicDataModule`.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

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
    task = load_task(PolyphonicMusicTask, checkpoint)
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def piece_scores(
    model: PreTrainedModel, data: PolyphonicMusicDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[PieceScore]:
    """Return the score of each piece of a split, by row, for paired tests of two models.

    Args:
        model: Model that predicts polyphonic music, with its final weights.
        data: DataModule after its `setup`.
        split: Name of the split, such as "test".
        accelerator: Kind of device, as Lightning's Trainer takes it, such as "auto", "cpu" or "gpu".

    Raises:
        ValueError: no such split; a model of another problem.
    """
    task: Any = load_task(PolyphonicMusicTask, model)
    device = model.device
    trainer = build_scoring_trainer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    model.to(device)  # Lightning leaves it on the CPU
    scores = [
        PieceScore(row, steps, nll)
        for batch in batches
        for row, steps, nll in zip(*(batch[name].tolist() for name in ("row", "steps", "nll")), strict=True)
    ]
    return sorted(scores, key=lambda score: score.row)
