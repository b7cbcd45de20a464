"""Options of every recipe that trains classifiers of texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ctxzoo.evaluation.environment import public_name
from ctxzoo.hub.folds import RunSettings
from ctxzoo.training.trainer import TrainerSettings


@dataclass
class TrainingSettings(RunSettings):
    """Where and how to train; a recipe adds its own options."""

    label_smoothing: float = 0.0
    ema_decay: float = field(default=0.0, metadata={"help": "of the moving average of weights; 0: none"})
    precision: str = field(default="32-true", metadata={"help": "32-true, bf16-mixed, 16-mixed, or auto"})
    threads: int = field(default=1, metadata={"help": "CPU threads of each process"})
    tiny: bool = field(default=False, metadata={"help": "small models on a few batches: does it run?"})
    output_dir: str = "runs"
    accelerator: str = "auto"
    devices: str = "auto"
    tensorboard: bool = True
    wandb: bool = False

    def trainer(self, seed: int, **options: Any) -> TrainerSettings:
        """Of one run; `options` are further fields of `TrainerSettings`."""
        return TrainerSettings(
            precision=self.precision,
            ema_decay=self.ema_decay,
            seed=seed,
            accelerator=self.accelerator,
            devices=self.devices,
            tensorboard=self.tensorboard,
            wandb=self.wandb,
            progress=False,
            limit_train_batches=4 if self.tiny else None,
            limit_eval_batches=2 if self.tiny else None,
            **options,
        )


def reported_vectors(vectors: str | None) -> dict[str, Any]:
    """What settings tell of given word vectors, whose width is then the model's.

    Without any nothing, so that results from before they could be given stay those of the same settings.
    """
    return {} if vectors is None else {"word_vectors": public_name(vectors), "word_dim": None}
