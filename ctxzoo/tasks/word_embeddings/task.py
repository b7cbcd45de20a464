"""Word embeddings for Lightning: negative sampling in batches of windows."""

from __future__ import annotations

import math
from typing import Any

import lightning
import torch
import torch.distributed
from transformers import AutoModelForMaskedLM

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.sparse_sgd import RowLimitedSGD, all_reduce_gradients
from ctxzoo.tasks.word_embeddings.trainer_parts import (
    EmbeddingProgress,
    check_same_training,
    check_training_loss,
    compute_untrained_loss,
)
from ctxzoo.training.task import build_model

LOGITS = ("word_position_logits", "word_factors", "position_factors", "position_logits")  # K, A, B, s
LONGEST_STEP = 0.3  # of a row in one batch; without it large batches diverge, see docs/models/word_embedding.md


class WordPredictionTask(lightning.LightningModule):
    """Trains a `WordEmbeddingForMaskedLM` by negative sampling, on a `WindowDataModule` or another loader.

    A batch holds the arguments of `sampled_loss` by name: `contexts` (N, 2b), `present` (N, 2b), `centres` (N,),
    `noise` and `noise_kept` (N, S).

    The loss of a batch is the sum over its centres, over all processes, so that a learning rate means what it does in
    training centre by centre; see `RowLimitedSGD` for what keeps large batches stable. Tables of words have sparse
    gradients. Rates follow from the share of all steps that is done, which is that of the words but for chance.

    Under mixed precision sums over windows and scores are computed in bfloat16, the weights and the loss in float32.

    Logged: train/loss, nats for each centre, the mean of each epoch.

    Args:
        model_config: Model configuration as a plain dict, including its `model_type`; None: `pretrained` is loaded.
        pretrained: Checkpoint folder or Hub id to load the model from, instead of a new one from `model_config`.
        training: Training settings, fields of `WordEmbeddingTraining` by name.
        data: Further values, such as a hash of the text, that must be equal when a training is resumed.
        total_words: Number of words that all passes over the text read, for the reported progress.

    Attributes:
        progress: Progress object that is updated during training, except for its seconds.

    Raises:
        ValueError: not exactly one of model_config and pretrained; a value out of range; when it is resumed, from a
            checkpoint of another training.
        FloatingPointError: the weights after an epoch or the loss of this epoch are not finite, or the loss is far
            above that of a model that knows nothing; names step and rate.
    """

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        training: dict[str, Any],
        data: dict[str, Any] | None = None,
        total_words: int = 0,
    ) -> None:
        super().__init__()
        # Trainings from before there was `pretrained` are still resumed: their checkpoints do not name it.
        self.save_hyperparameters(ignore=["model", *(["pretrained"] if pretrained is None else [])])
        # DistributedDataParallel knows no gradients that are sparse by themselves; they are summed here.
        self.automatic_optimization = False
        self.settings = WordEmbeddingTraining(**training)
        load = WordEmbeddingForMaskedLM.from_pretrained
        self.model = build_model(AutoModelForMaskedLM, model_config, pretrained, load, model)
        self.model.set_sparse_gradients(True)
        self.model.train()
        self._untrained_loss = compute_untrained_loss(self.model, self.settings.negative_samples)
        self.progress = EmbeddingProgress(total_words=total_words)
        self._loss = 0.0  # sum over the centres of this epoch
        self._centres = 0.0

    def configure_optimizers(self) -> RowLimitedSGD:
        groups: dict[bool, list[torch.nn.Parameter]] = {False: [], True: []}
        for name, parameter in self.model.named_parameters():
            groups[any(part in LOGITS for part in name.split("."))].append(parameter)
        return RowLimitedSGD(
            [{"params": parameters, "logits": logits} for logits, parameters in groups.items() if parameters],
            lr=self.settings.learning_rate,
            longest_step=LONGEST_STEP,
        )

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> None:
        optimizer: Any = self.optimizers()
        rate = self._set_learning_rates(optimizer)
        losses = self.model.sampled_loss(**batch, input_gradient=self.settings.input_gradient)
        optimizer.zero_grad()
        # Not `manual_backward`, which would make DistributedDataParallel expect gradients to sum up itself.
        losses.sum().backward()
        loss, centres = _all_reduce_sum(torch.stack([losses.detach().sum(), losses.new_tensor(len(losses))])).tolist()
        self._add_loss(loss, centres)
        if centres:
            check_training_loss(self.progress.loss, self._untrained_loss, f"at {self._describe_progress(rate)}")
        all_reduce_gradients(self.model.parameters())
        optimizer.step()
        self.progress.rate = rate
        self.progress.words = self.progress.total_words * self.global_step // self._count_training_steps()

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the predicted words of a batch (N,) and each one's loss with its noise words in nats (N,)."""
        losses = self.model.sampled_loss(**batch, input_gradient=self.settings.input_gradient)
        return {"centres": batch["centres"], "loss": losses}

    def on_train_epoch_end(self) -> None:
        progress = self.progress
        for name, parameter in self.model.named_parameters():
            # One number that is not finite makes the sum so, which needs no copy.
            if not torch.isfinite(parameter.detach().sum()):
                raise FloatingPointError(f"{name} is not finite after {self._describe_progress(progress.rate)}")
        self.log("train/loss", progress.loss)  # the same in all processes
        progress.epoch += 1
        progress.epoch_losses.append(progress.loss)
        self._loss = self._centres = 0.0

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["word_prediction"] = {
            "progress": dict(vars(self.progress)),
            "loss": self._loss,
            "centres": self._centres,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        check_same_training(
            "the checkpoint", _flatten_settings(checkpoint["hyper_parameters"]), _flatten_settings(self.hparams)
        )
        saved = checkpoint["word_prediction"]
        self.progress = EmbeddingProgress(**saved["progress"])
        self._loss, self._centres = saved["loss"], saved["centres"]

    def _count_training_steps(self) -> int:
        """Return the number of steps of the whole training."""
        return int(self.trainer.num_training_batches) * self.settings.epochs

    def _set_learning_rates(self, optimizer: Any) -> float:
        """Set the learning rates for this step, and return the one of the vectors."""
        share = self.global_step / self._count_training_steps()
        rate = self.settings.learning_rate_at(share)
        for group in optimizer.param_groups:
            group["lr"] = self.settings.logit_learning_rate_at(share) if group["logits"] else rate
        return rate

    def _add_loss(self, loss: float, centres: float) -> None:
        """Add a loss, summed over this many words, to the mean that the progress shows."""
        self._loss += loss
        self._centres += centres
        self.progress.loss = self._loss / self._centres if self._centres else math.nan

    def _describe_progress(self, rate: float) -> str:
        """Return step and learning rate for an error, with what to change."""
        return f"step {self.global_step}, with the learning rate {rate:.3g}; lower it, or the batch size"


def _all_reduce_sum(values: torch.Tensor) -> torch.Tensor:
    """Sum values over all processes, in place."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(values)
    return values


def _flatten_settings(settings: Any) -> dict[str, Any]:
    """Return all settings in one flat dict by name, without the groups model, training and data."""
    parts = [value if isinstance(value, dict) else {name: value} for name, value in settings.items()]
    return {name: value for part in parts for name, value in part.items()}
