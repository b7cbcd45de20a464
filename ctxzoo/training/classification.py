"""What tasks share that give one of several labels, to a text or to each of its words: loss and scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassF1Score
from transformers import AutoConfig

from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.training.task import Scores, ZooTask, select_model_inputs

CALIBRATION_BINS = 15


class ClassificationScores(Scores):
    """Accuracy, macro F1, calibration error and negative log-likelihood of whatever is classified.

    `accuracy`, `macro_f1` (mean over the classes that are anyone's label or prediction) and `calibration_error`
    (expected calibration error: mean distance between the probability of the predicted class and how often it is
    right, in 15 bins of that probability) in percent; `nll` in nats.

    Args:
        num_labels: Number of labels L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        # Other strategies leave rows with NaN out of the mean. This one knows no weights, so it gets every row's loss.
        self.nll = MeanMetric(nan_strategy="disable")
        self.fractions = MetricCollection(
            {
                "accuracy": MulticlassAccuracy(num_labels, average="micro"),
                "macro_f1": MulticlassF1Score(num_labels, average="macro"),
                "calibration_error": MulticlassCalibrationError(num_labels, n_bins=CALIBRATION_BINS, norm="l1"),
            }
        )

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add logits (N, L) and their labels (N,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        self.fractions.update(logits.softmax(dim=1), labels)

    def compute(self) -> dict[str, float]:
        """Return the scores by name over all that was added."""
        percentages = {name: 100.0 * float(value) for name, value in self.fractions.compute().items()}
        return {**percentages, "nll": float(self.nll.compute())}


def label_fields(label_names: Sequence[str], *, several: bool = False) -> dict[str, Any]:
    """Return the fields of a config that name its labels; pipelines and cards show these names.

    Args:
        label_names: Names of the labels.
        several: Whether a text may have several of them, which is a `problem_type`.
    """
    names = {"id2label": dict(enumerate(label_names)), "label2id": {name: i for i, name in enumerate(label_names)}}
    return {**names, "problem_type": SEVERAL_LABELS} if several else names


class ClassificationTask(ZooTask):
    """Trains a classifier by cross-entropy and scores it; a subclass says what is classified.

    The losses are computed here and not by the model, so that label smoothing is the same for every architecture. The
    loss of training also holds the `auxiliary_loss` of an output that has one.

    Scores: those of `ClassificationScores`, without smoothing.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`; label names come from `label_fields`.
        label_names: Names of the labels for a `pretrained` model; a head for other labels, or for these in another
            order, is replaced with a warning.
        label_smoothing: Label smoothing: fraction of the target probability spread evenly over all classes, 0 or more
            and below 1.
        class_weights: Weight of each class in the loss of training, by the number of the class; None: 1.

    Raises:
        ValueError: see `ZooTask`; label_smoothing out of range; label_names without pretrained; when it runs, labels of
            the model that are not those of the DataModule.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    class_weights: torch.Tensor | None
    monitor = "validation/accuracy"
    lower_is_better = ZooTask.lower_is_better | {"calibration_error"}

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        label_names: Sequence[str] | None = None,
        label_smoothing: float = 0.0,
        class_weights: Sequence[float] | None = None,
        **optimizer_args: Any,
    ) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be in [0, 1), got {label_smoothing}")
        if label_names is not None and pretrained is None:
            raise ValueError("label_names without pretrained; put **label_fields(label_names) into model_config")
        super().__init__(model_config, pretrained, model=model, **optimizer_args)
        if class_weights is not None and len(class_weights) != self.model.config.num_labels:
            raise ValueError(
                f"class_weights has {len(class_weights)} numbers; expected {self.model.config.num_labels}, one for "
                "each label"
            )
        weights = None if class_weights is None else torch.tensor(class_weights, dtype=torch.float32)
        self.register_buffer("class_weights", weights, persistent=False)

    def load_pretrained(self, pretrained: str) -> Any:
        """Load a model from a folder or the Hub, with a new head if its labels are not those of the task."""
        label_names = self.hparams["label_names"]
        if label_names is None:
            return super().load_pretrained(pretrained)
        old_labels = read_labels_of_head(self.auto_class, pretrained)
        fields = self.build_label_fields(pretrained, label_names)
        old_type = getattr(AutoConfig.from_pretrained(pretrained), "problem_type", None)
        same_type = (old_type == SEVERAL_LABELS) == (fields.get("problem_type") == SEVERAL_LABELS)
        if old_labels == list(label_names) and same_type:
            return super().load_pretrained(pretrained)
        model = self.auto_class.from_pretrained(
            pretrained,
            use_safetensors=True,
            dtype=torch.float32,  # to train in, whatever the checkpoint keeps
            ignore_mismatched_sizes=old_labels is not None,
            **fields,
        )
        if old_labels is not None:
            number = "any number" if old_type == SEVERAL_LABELS else "one"
            each = "" if same_type else f", {number} for a text"
            warnings.warn(
                f"the classification head of {pretrained} is for the labels {old_labels}{each}; it is "
                f"replaced by a new one for {list(label_names)}",
                stacklevel=2,
            )
            _load_base_model_weights(model, self.auto_class.from_config(model.config))
        return model

    def build_label_fields(self, pretrained: str, label_names: Sequence[str]) -> dict[str, Any]:
        """The fields of a checkpoint's config that change with its labels."""
        return label_fields(label_names)

    @abstractmethod
    def select_labelled_logits(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits (N, L) and labels (N,) of the batch's examples that have a label."""

    def setup(self, stage: str) -> None:
        """Raise an error if the data has other labels than the model."""
        data_labels = getattr(self.trainer.datamodule, "label_names", None)
        model_labels = [name for _, name in sorted(self.model.config.id2label.items())]
        if data_labels is not None and list(data_labels) != model_labels:
            raise ValueError(
                f"the model's labels are {model_labels}, those of the data {list(data_labels)}; build its config with "
                "**label_fields(data.label_names), or take the data that it was trained for"
            )

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        rows = {"row": batch["row"]} if "row" in batch else {}
        return {**rows, "logits": self._compute_model_output(batch).logits.float()}

    def build_scores(self) -> ClassificationScores:
        """Return empty scores for the number of labels."""
        return ClassificationScores(self.model.config.num_labels)

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the cross-entropy of the labels, plus the auxiliary loss of models that have one."""
        output = self._compute_model_output(batch)
        logits, labels = self.select_labelled_logits(output.logits.float(), batch["labels"])
        loss = self.compute_label_loss(logits, labels)
        auxiliary_loss = output.get("auxiliary_loss")
        return loss if auxiliary_loss is None else loss + auxiliary_loss

    def compute_label_loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of logits (N, L) of examples with labels (N,), smoothed and weighed by class."""
        smoothing = self.hparams["label_smoothing"]
        return F.cross_entropy(logits, labels, weight=self.class_weights, label_smoothing=smoothing)

    def describe_examples(self, rows: list[int]) -> str:
        """Return a text that names the rows of a batch in the training split."""
        return f"rows of the batch in the training split: {rows}"

    def update_scores(self, scores: ClassificationScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the logits and labels of a batch to the scores."""
        # In float32 also under mixed precision.
        scores.update(*self.select_labelled_logits(self._compute_model_output(batch).logits.float(), batch["labels"]))

    def compute_scores(self, scores: ClassificationScores) -> dict[str, float]:
        """Return the scores by name."""
        return scores.compute()

    def _compute_model_output(self, batch: dict[str, torch.Tensor]) -> Any:
        """Return the model's output for a batch, computed without the labels."""
        return self.model(**{name: value for name, value in select_model_inputs(batch).items() if name != "labels"})


def read_labels_of_head(auto_class: Any, pretrained: str) -> list[str] | None:
    """Return the label names of a checkpoint's head for an Auto class; None without such a head.

    Raises:
        OSError: there is no such checkpoint.
    """
    config = AutoConfig.from_pretrained(pretrained)
    head = auto_class.__name__.removeprefix("AutoModel")
    if not any(name.endswith(head) for name in config.architectures or []):
        return None
    return [name for _, name in sorted(config.id2label.items())]


def _load_base_model_weights(model: Any, fresh: Any) -> None:
    """Copy all weights but the base model's from `fresh` to a model, to give it a new head."""
    base = f"{model.base_model_prefix}."
    head = {name: value for name, value in fresh.state_dict().items() if not name.startswith(base)}
    model.load_state_dict(head, strict=False)
