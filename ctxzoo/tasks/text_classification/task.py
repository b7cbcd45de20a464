"""Classes of texts for Lightning: cross-entropy, accuracy, macro F1, calibration; of texts with a known word, too."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.training.classification import ClassificationScores, ClassificationTask, label_fields


class TextScores(ClassificationScores):
    """The scores of `ClassificationScores` over all texts; where some have no known word, for a model to read, also:

    `known_accuracy`, over the texts with a known word, and `known_share`, how many of all these are, in percent.

    Args:
        num_labels: L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__(num_labels)
        self.known_accuracy = MulticlassAccuracy(num_labels, average="micro")
        self.known_share = MeanMetric()

    def update_texts(self, logits: torch.Tensor, labels: torch.Tensor, known: torch.Tensor) -> None:
        """Add logits (N, L) of texts with the labels (N,); `known`, boolean (N,): those with a known word."""
        self.update(logits, labels)
        self.known_share.update(known.float())
        if known.any():
            self.known_accuracy.update(logits[known], labels[known])

    def compute(self) -> dict[str, float]:
        scores = super().compute()
        share = float(self.known_share.compute())
        if 0 < share < 1:
            scores["known_accuracy"] = 100.0 * float(self.known_accuracy.compute())
            scores["known_share"] = 100.0 * share
        return scores


class SequenceClassificationTask(ClassificationTask):
    """Trains and scores any classifier of the zoo with one label for each text.

    A batch holds `labels`, (B,) class numbers; the model gives logits (B, labels). Losses and the arguments that are
    not named here: see `ClassificationTask`. Scores: those of `TextScores`; a text without a known word is one whose
    `attention_mask` is 0 throughout.

    Args:
        label_names: labels of a `pretrained` encoder. One without a classification head gets a new one; so does one
            whose head is for other labels, or for these in another order, which a warning tells.

    Raises:
        ValueError: see `ClassificationTask`; label_names without pretrained.
    """

    auto_class = AutoModelForSequenceClassification

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        label_names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        if label_names is not None and pretrained is None:
            raise ValueError("label_names without pretrained; put **label_fields(label_names) into model_config")
        super().__init__(model_config, pretrained, **options)

    def load_pretrained(self, pretrained: str) -> Any:
        label_names = self.hparams["label_names"]
        theirs = _labels_of_head(pretrained)
        if label_names is None or theirs == list(label_names):
            return super().load_pretrained(pretrained)
        model = self.auto_class.from_pretrained(
            pretrained,
            use_safetensors=True,
            dtype=torch.float32,  # to train in, whatever the checkpoint keeps
            ignore_mismatched_sizes=theirs is not None,
            **label_fields(label_names),
        )
        if theirs is not None:
            warnings.warn(
                f"the classification head of {pretrained} is for the labels {theirs}; it is replaced by a new one for "
                f"{list(label_names)}",
                stacklevel=2,
            )
            _renew_head(model, self.auto_class.from_config(model.config))
        return model

    def new_scores(self) -> TextScores:
        return TextScores(self.model.config.num_labels)

    def update_scores(self, scores: TextScores, batch: dict[str, torch.Tensor], split: str) -> None:  # type: ignore[override]
        # In float32 also under mixed precision.
        scores.update_texts(self._output(batch).logits.float(), batch["labels"], batch["attention_mask"].any(dim=1))

    def classified(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return logits, labels


def _labels_of_head(pretrained: str) -> list[str] | None:
    """The labels of a checkpoint's classification head, in order; None where it has none."""
    config = AutoConfig.from_pretrained(pretrained)
    if not any(name.endswith("ForSequenceClassification") for name in config.architectures or []):
        return None
    return [name for _, name in sorted(config.id2label.items())]


def _renew_head(model: Any, fresh: Any) -> None:
    """Give a model the weights of another of its kind, but for those of its base model."""
    base = f"{model.base_model_prefix}."
    head = {name: value for name, value in fresh.state_dict().items() if not name.startswith(base)}
    model.load_state_dict(head, strict=False)
