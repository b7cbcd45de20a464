"""`ZooTask`: what every LightningModule of the zoo shares, whatever its model predicts; and how its head is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import lightning
import torch
from lightning.pytorch.trainer.states import TrainerFn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torchmetrics import Metric
from transformers import AutoConfig, PreTrainedModel

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.data.notices import hide_weight_progress_bars
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.layers_pretrained_encoder import ENCODER_WEIGHTS, EncoderWords
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.registration import ARCHITECTURES, MODEL_TYPE_PREFIX
from ctxzoo.training.callbacks import explain_unreadable_checkpoint
from ctxzoo.training.optimizers import OptimizerArgs, build_optimizer

AnyScores = TypeVar("AnyScores", bound="Scores")

STAGES = ("validation", "test")
NOT_INPUTS = ("row",)
_WEIGHTS_OF_CHECKPOINTS = frozenset({"state_dict", "current_model_state"})  # parts of a Lightning checkpoint


class AutoHead:
    """Finds the head of an architecture by the problem that it names.

    Args:
        task: Name of the problem, the `zoo_task` of the head's class, such as "text-classification".
    """

    def __init__(self, task: str) -> None:
        self.task = task

    def from_config(self, config: ZooConfig) -> ZooPreTrainedModel:
        """Return a new model with the head for this task.

        Raises:
            ValueError: no architecture of the zoo, or one without a head for the problem.
        """
        return self._get_head_class(config)(config)

    def from_pretrained(self, checkpoint: str, **options: Any) -> Any:
        """Load a model with the head for this task; options as in `PreTrainedModel.from_pretrained`.

        Raises:
            OSError, ValueError: see there and `from_config`.
        """
        return self._get_head_class(AutoConfig.from_pretrained(checkpoint)).from_pretrained(checkpoint, **options)

    def _get_head_class(self, config: ZooConfig) -> type[ZooPreTrainedModel]:
        """Return the model class with a head for this task that has such a configuration."""
        name = config.model_type.removeprefix(MODEL_TYPE_PREFIX)
        heads = ARCHITECTURES[name].model_classes.values() if name in ARCHITECTURES else ()
        head_class = next((head for head in heads if head.zoo_task == self.task), None)
        if head_class is None:
            raise ValueError(f"{config.model_type!r} has no head for {self.task}")
        return head_class


class NonFiniteLossError(RuntimeError):
    """The loss is NaN or infinite."""


class Scores(torch.nn.Module):
    """The metrics of one stage, torchmetrics that gather the whole split whatever the number of processes."""

    def reset(self) -> None:
        """Reset all metrics."""
        # `Trainer.validate` runs in inference mode; states made there could not be updated by a later `Trainer.fit`.
        with torch.inference_mode(False):
            for metric in self.children():
                metric.reset()  # type: ignore[operator]

    def keep_local(self: AnyScores) -> AnyScores:
        """Let no metric gather scores of other processes, where this one scores all rows by itself; return self."""
        for metric in self.modules():
            if isinstance(metric, Metric):
                metric.distributed_available_fn = _return_false
        return self


def _return_false() -> bool:
    return False


class ZooTask(lightning.LightningModule, ABC):
    """Builds a model, trains it and logs its scores; a subclass says what loss and scores are.

    Logged: train/loss; train/epoch_loss, its mean over the rows of an epoch (of one resumed in the middle, over those
    after the checkpoint); the `logged_outputs` of the model, likewise; and for validation and test what the subclass
    computes over the whole split, never means of batches. A batch is a dict of model inputs, each with the examples of
    the batch along its first dimension, and where the data has it `row`, (B,) rows of the split, by which errors name
    examples and predictions are told apart.

    Args:
        model_config: Model configuration as a plain dict, including its `model_type`; None: `pretrained` is loaded.
        pretrained: Checkpoint folder or Hub id to load the model from, instead of a new one from `model_config`.
        model: Model object to train in place of a new or loaded one, such as of your own class
            (docs/change_a_model.md); it is not saved as a hyperparameter, so pass it to `load_from_checkpoint` again.
        encoder_learning_rate, encoder_warmup_steps: Peak learning rate of a trained encoder that reads the words, and
            number of steps over which it rises linearly from 0; None: the rate of all other weights.
        optimizer_args: Fields of `OptimizerArgs` by name: `optimizer`, `learning_rate`, `weight_decay`, `momentum`,
            `warmup_steps`, `decay_steps`, `halve_after`; default: those of `default_optimizer`. All are
            hyperparameters.

    Raises:
        ValueError: not exactly one of model_config, pretrained and model; see also `OptimizerArgs`.
        TypeError: an argument that there is not; a model that is no `PreTrainedModel`.
        NonFiniteLossError: in training, naming step, learning rate and examples.
    """

    auto_class: ClassVar[Any]  # of transformers, or an AutoHead: finds the head that the task trains
    monitor: str  # the score that tells a better epoch
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "epoch_loss", "nll"})  # scores, without split
    default_optimizer: ClassVar[OptimizerArgs] = OptimizerArgs()

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        encoder_learning_rate: float | None = None,
        encoder_warmup_steps: int = 0,
        **optimizer_args: Any,
    ) -> None:
        super().__init__()
        self.optimizer_args = self.default_optimizer.copy_with(optimizer_args)
        self.save_hyperparameters(ignore=["model", *optimizer_args])  # those of the subclass as well
        self.save_hyperparameters(asdict(self.optimizer_args))  # plain: checkpoints are read as weights alone
        self.model = build_model(self.auto_class, model_config, pretrained, self.load_pretrained, model)
        self.model.train()
        self.test_split = "test"  # the split that test_step's batches come from
        self.scores = torch.nn.ModuleDict({stage: self.build_scores() for stage in STAGES})

    def load_pretrained(self, pretrained: str) -> Any:
        """Load the model to start from, a folder or Hub id; called in `__init__` when only `hparams` are set."""
        return self.auto_class.from_pretrained(pretrained, use_safetensors=True)

    @classmethod
    def is_lower_better(cls, monitor: str | None) -> bool:
        """Return whether a lower value of a logged score (`validation/nll`) is better; False without a score."""
        return monitor is not None and monitor.rpartition("/")[2] in cls.lower_is_better

    @abstractmethod
    def build_scores(self) -> Scores:
        """Return a new, empty collection of metrics for one stage."""

    @abstractmethod
    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of a training batch, a scalar."""

    @abstractmethod
    def describe_examples(self, rows: list[int]) -> str:
        """Return how a person finds the training examples of these rows, for an error message."""

    @abstractmethod
    def update_scores(self, scores: Any, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the predictions for a batch of a split to the stage's metrics."""

    @abstractmethod
    def compute_scores(self, scores: Any) -> dict[str, float]:
        """Return the scores of a stage by name."""

    def forward(self, **inputs: Any) -> Any:
        return self.model(**inputs)

    def load_weights(self, checkpoint: Path) -> None:
        """Load the weights of a Lightning checkpoint: the averaged ones, if the training kept an average.

        Raises:
            ValueError, OSError: see `explain_unreadable_checkpoint`.
        """
        with explain_unreadable_checkpoint(checkpoint):
            weights = torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"]
        self.load_state_dict({**self.get_frozen_weights(), **weights})

    def get_parameter_groups(self) -> Iterable[Any]:
        """Return the parameters to optimize, or torch's groups of them with their own learning rates."""
        rate = self.hparams["encoder_learning_rate"]
        of_encoder = [one for module in self._list_word_encoders() for one in module.parameters() if one.requires_grad]
        if rate is None or not of_encoder:
            return list(self.parameters())
        known = set(map(id, of_encoder))
        others = [one for one in self.parameters() if one.requires_grad and id(one) not in known]
        warmup = self.hparams["encoder_warmup_steps"]
        return [{"params": others}, {"params": of_encoder, "lr": rate, "warmup_steps": warmup}]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave frozen weights out of a Lightning checkpoint, which a training that resumes has from elsewhere."""
        frozen = self.get_frozen_weights().keys()
        for part in _WEIGHTS_OF_CHECKPOINTS & checkpoint.keys():
            checkpoint[part] = {name: value for name, value in checkpoint[part].items() if name not in frozen}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Put frozen weights back into a Lightning checkpoint.

        Raises:
            ValueError: those of an encoder are not in the checkpoint, and it was not read.
        """
        frozen = self.get_frozen_weights()
        for part in _WEIGHTS_OF_CHECKPOINTS & checkpoint.keys():
            checkpoint[part] = {**frozen, **checkpoint[part]}
            if any(name not in checkpoint[part] for name, _ in self.named_parameters() if ENCODER_WEIGHTS in name):
                raise ValueError(
                    "a checkpoint of Lightning does not hold the weights of a frozen encoder; load the folder "
                    "`checkpoint` of the run, or read the encoder first, with load_encoder_weights(task.model, NAME)"
                )

    def get_frozen_weights(self) -> dict[str, torch.Tensor]:
        """Return the weights that Lightning checkpoints leave out, by name: those of a frozen encoder that was read."""
        encoders = [one for one in self._list_word_encoders() if not one.trainable and one.loaded_from is not None]
        frozen = {id(one) for module in encoders for one in module.parameters()}
        return {name: one.detach() for name, one in self.named_parameters() if id(one) in frozen}

    def _list_word_encoders(self) -> list[EncoderWords]:
        """Return the encoders that read the words of the model, one or none."""
        return [module for module in self.model.modules() if isinstance(module, EncoderWords)]

    def configure_optimizers(self) -> Any:
        # On a GPU torch's own choice is as fast; and in mixed precision Lightning cannot clip for a fused optimizer.
        can_clip = not self.trainer.gradient_clip_val or self.trainer.precision in ("32-true", "64-true")
        fused = self.device.type == "cpu" and can_clip
        return build_optimizer(
            self.optimizer_args,
            self.get_parameter_groups(),
            monitor=self.monitor,
            lower_is_better=self.is_lower_better(self.monitor),
            fused=fused,
        )

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        with record_logged_outputs(self.model) as logged_outputs:
            loss = self.compute_training_loss(batch)
        if not torch.isfinite(loss):
            self._refuse_non_finite_loss(loss, batch)
        size = len(next(iter(batch.values())))
        for name, value in logged_outputs.items():
            self.log(f"train/{name}", value, on_step=False, on_epoch=True, batch_size=size, sync_dist=True)
        self.log("train/loss", loss, prog_bar=True, batch_size=size)
        self.log("train/epoch_loss", loss, on_step=False, on_epoch=True, batch_size=size, sync_dist=True)
        return loss

    def validation_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> None:
        self.update_scores(self.scores["validation"], batch, "validation")

    def test_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> None:
        self.update_scores(self.scores["test"], batch, self.test_split)

    def on_validation_epoch_end(self) -> None:
        values = self._log_scores("validation")
        if self.trainer.state.fn == TrainerFn.FITTING:
            for config in self.trainer.lr_scheduler_configs:
                if config.reduce_on_plateau and config.monitor in values:
                    config.scheduler.step(torch.tensor(values[config.monitor]))

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Step a learning rate schedule after a batch or epoch; those by validation score step after validation.

        Lightning's own moment for these comes after the checkpoint of the epoch, from which a resumed run would go on
        with another rate.
        """
        if not isinstance(scheduler, ReduceLROnPlateau):
            super().lr_scheduler_step(scheduler, metric)

    def on_test_epoch_end(self) -> None:
        self._log_scores("test")

    def _log_scores(self, stage: str) -> dict[str, float]:
        """Compute, log and reset the scores of a stage; return them as "stage/name"."""
        scores = self.scores[stage]
        assert isinstance(scores, Scores)
        values = {f"{stage}/{name}": value for name, value in self.compute_scores(scores).items()}
        scores.reset()
        # Not synchronised: the metrics have gathered every process's examples.
        self.log_dict(values, prog_bar=False, sync_dist=False)
        return values

    def _refuse_non_finite_loss(self, loss: torch.Tensor, batch: dict[str, torch.Tensor]) -> None:
        """Raise `NonFiniteLossError` for a loss, with step, learning rates and the rows of the batch."""
        rates = [group["lr"] for optimizer in self.trainer.optimizers for group in optimizer.param_groups]
        examples = f"{self.describe_examples(batch['row'].tolist())}. " if "row" in batch else ""
        raise NonFiniteLossError(
            f"loss is {loss.item()} at step {self.global_step} (epoch {self.current_epoch}), learning rate {rates}; "
            f"{examples}Lower the learning rate or clip gradients more; the last "
            "checkpoint is from before this step"
        )


def build_model(
    auto_class: Any,
    model_config: dict[str, Any] | None,
    pretrained: str | None,
    load: Callable[[str], Any],
    model: Any = None,
) -> Any:
    """Return the model to train: a new one from a config, one that `load` loads, or the given one.

    Raises:
        OSError: there is no such checkpoint.
        TypeError: a model that is no `PreTrainedModel`.
        ValueError: not exactly one of model_config, pretrained and model; see also `load`.
    """
    if sum(one is not None for one in (model_config, pretrained, model)) != 1:
        raise ValueError("give either model_config or pretrained, or a model")
    if model is not None:
        if not isinstance(model, PreTrainedModel):
            raise TypeError(
                f"the model is a {type(model).__name__}; expected a PreTrainedModel, whose forward gives loss and "
                "logits: derive a class from one of ctxzoo.models, which may hold modules of any kind "
                "(docs/change_a_model.md)"
            )
        return model
    if pretrained is None:
        return auto_class.from_config(AutoConfig.for_model(**dict(model_config or {})))
    refuse_missing_path(pretrained, "checkpoint")
    with hide_weight_progress_bars():
        return load(pretrained)


@contextmanager
def record_logged_outputs(model: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Within this context, record the base model's outputs named in `logged_outputs` of the last forward pass."""
    logged_outputs: dict[str, torch.Tensor] = {}

    def record_base_model_output(_: Any, __: Any, output: Any) -> None:
        outputs = {name: getattr(output, name, None) for name in model.logged_outputs}
        logged_outputs.update({name: value.detach() for name, value in outputs.items() if value is not None})

    handle = (
        model.base_model.register_forward_hook(record_base_model_output)
        if getattr(model, "logged_outputs", ())
        else None
    )
    try:
        yield logged_outputs
    finally:
        if handle is not None:
            handle.remove()


def select_model_inputs(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the entries of a batch that the model's forward takes."""
    return {name: value for name, value in batch.items() if name not in NOT_INPUTS}
