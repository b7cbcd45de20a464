"""Options of every recipe that trains models side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxzoo.results.environment import public_name
from ctxzoo.results.result import VECTORS_CONTENT
from ctxzoo.runs.many import RunSettings
from ctxzoo.runs.options import reported
from ctxzoo.runs.spec import RunSpec
from ctxzoo.training.trainer import TrainerSettings
from ctxzoo.word_vectors.vectors import word_vectors_fingerprint


@dataclass
class TrainingSettings(RunSettings):
    """Where and how to train; a recipe adds its own options."""

    ema_decay: float = reported(0.0, "of the moving average of weights; 0: none")
    precision: str = reported("32-true", "32-true, bf16-mixed, 16-mixed, or auto")
    tiny: bool = reported(False, "small models on a few batches: does it run?")
    output_dir: str = "runs"
    accelerator: str = "auto"
    devices: str = "auto"
    tensorboard: bool = True
    wandb: bool = False

    def spec(self, **identity: Any) -> RunSpec:
        """Return the spec of one run; `identity` are the fields of `RunSpec` that are no options."""
        places = {name: getattr(self, name) for name in ("score", "output_dir", "results_dir")}
        return RunSpec(**places, **identity)

    def trainer(self, seed: int, **options: Any) -> TrainerSettings:
        """Return how one run is trained; `options` are further fields of `TrainerSettings`."""
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
    """Return what results files report of given word vectors, by name and content; their width is then the model's.

    Without any nothing, so that results from before they could be given stay those of the same settings.

    Raises:
        OSError, ValueError: see `word_vectors_fingerprint`.
    """
    if vectors is None:
        return {}
    return {"word_vectors": public_name(vectors), "word_dim": None, **vectors_content(vectors)}


def vectors_content(vectors: str | None) -> dict[str, Any]:
    """Return the content of given word vectors as reported, so that no other file of this name is taken for them.

    It stands beside the fingerprint of the data: models that start from other vectors compare on the same rows.
    """
    return {} if vectors is None else {VECTORS_CONTENT: word_vectors_fingerprint(vectors)}
