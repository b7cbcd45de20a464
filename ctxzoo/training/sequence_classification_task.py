"""Classes of texts for Lightning: cross-entropy, accuracy, macro F1, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassF1Score
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.training.optimisers import OptimiserName
from ctxzoo.training.task import Scores, ZooTask, model_inputs

CALIBRATION_BINS = 15


def label_fields(label_names: Sequence[str]) -> dict[str, dict[Any, Any]]:
    """The fields of a config that name its labels; pipelines and cards show these names."""
    return {"id2label": dict(enumerate(label_names)), "label2id": {name: i for i, name in enumerate(label_names)}}


class SequenceClassificationTask(ZooTask):
    """Trains and scores any classifier of the zoo with one label for each text.

    A batch holds `labels`, (B,) class numbers. The model gives logits (B, labels); the losses are computed here, so
    that label smoothing is the same for every architecture. The loss of training also holds the `auxiliary_loss` of an
    output that has one.

    Scores: `accuracy`, `macro_f1` (mean over the classes that are anyone's label or prediction), `calibration_error`
    (expected calibration error: mean distance between the probability of the predicted class and how often it is
    right, in 15 bins of that probability), all in percent, and `nll` (nats, without smoothing).

    Args:
        model_config, pretrained, optimiser, learning_rate, weight_decay, warmup_steps, decay_steps, halve_after: see
            `ZooTask`; `label_fields` gives the config the names of the labels.
        label_names: labels of a `pretrained` encoder whose classification head is new. A checkpoint that has such a
            head keeps the labels that it was trained for.
        label_smoothing: share of the training target that is spread evenly over all classes, in [0, 1).

    Raises:
        ValueError: see `ZooTask`; label_smoothing out of range; label_names without pretrained; when it runs, labels
            of the model that are not those of the DataModule.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    auto_class = AutoModelForSequenceClassification
    monitor = "validation/accuracy"

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        optimiser: OptimiserName = "adam",
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        warmup_steps: int = 0,
        decay_steps: int | None = None,
        halve_after: int = 0,
        label_smoothing: float = 0.0,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if label_names is not None and pretrained is None:
            raise ValueError("label_names without pretrained; put **label_fields(label_names) into model_config")
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be in [0, 1), got {label_smoothing}")
        super().__init__(
            model_config,
            pretrained,
            optimiser=optimiser,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            warmup_steps=warmup_steps,
            decay_steps=decay_steps,
            halve_after=halve_after,
        )

    def load_pretrained(self, pretrained: str) -> Any:
        label_names = self.hparams["label_names"]
        if label_names is None or _has_classification_head(pretrained):
            return super().load_pretrained(pretrained)
        return self.auto_class.from_pretrained(
            pretrained,
            use_safetensors=True,
            dtype=torch.float32,  # to train in, whatever the checkpoint keeps
            **label_fields(label_names),
        )

    def setup(self, stage: str) -> None:
        """Refuse data whose labels are others: the numbers would mean something else."""
        theirs = getattr(self.trainer.datamodule, "label_names", None)
        ours = [name for _, name in sorted(self.model.config.id2label.items())]
        if theirs is not None and list(theirs) != ours:
            raise ValueError(
                f"the model's labels are {ours}, those of the data {list(theirs)}; build its config with "
                "**label_fields(data.label_names), or take the data that it was trained for"
            )

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        return {"row": batch["row"], "logits": self._logits(batch)}

    def new_scores(self) -> _Scores:
        return _Scores(self.model.config.num_labels)

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        output = self._output(batch)
        smoothing = self.hparams["label_smoothing"]
        loss = F.cross_entropy(output.logits.float(), batch["labels"], label_smoothing=smoothing)
        auxiliary_loss = output.get("auxiliary_loss")
        return loss if auxiliary_loss is None else loss + auxiliary_loss

    def name_examples(self, rows: list[int]) -> str:
        return f"rows of the batch in the training split: {rows}"

    def update_scores(self, scores: _Scores, batch: dict[str, torch.Tensor], split: str) -> None:
        scores.update(self._logits(batch), batch["labels"])

    def compute_scores(self, scores: _Scores) -> dict[str, float]:
        return scores.compute()

    def _logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """(B, labels) in float32, also under mixed precision."""
        logits: torch.Tensor = self._output(batch).logits
        return logits.float()

    def _output(self, batch: dict[str, torch.Tensor]) -> Any:
        return self.model(**{name: value for name, value in model_inputs(batch).items() if name != "labels"})


def _has_classification_head(pretrained: str) -> bool:
    architectures = AutoConfig.from_pretrained(pretrained).architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


class _Scores(Scores):
    def __init__(self, num_labels: int) -> None:
        super().__init__()
        # Other strategies leave rows with NaN out of the mean. This one knows no weights, so it gets every row's loss.
        self.nll = MeanMetric(nan_strategy="disable")
        self.accuracy = MulticlassAccuracy(num_labels, average="micro")
        self.macro_f1 = MulticlassF1Score(num_labels, average="macro")
        self.calibration_error = MulticlassCalibrationError(num_labels, n_bins=CALIBRATION_BINS, norm="l1")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        probabilities = logits.softmax(dim=1)
        for metric in (self.accuracy, self.macro_f1, self.calibration_error):
            metric.update(probabilities, labels)

    def compute(self) -> dict[str, float]:
        percentages = ("accuracy", "macro_f1", "calibration_error")
        return {
            **{name: 100.0 * float(getattr(self, name).compute()) for name in percentages},
            "nll": float(self.nll.compute()),
        }
