"""Classes of texts for Lightning: cross-entropy, accuracy, macro F1, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.training.classification_task import ClassificationTask, label_fields


class SequenceClassificationTask(ClassificationTask):
    """Trains and scores any classifier of the zoo with one label for each text.

    A batch holds `labels`, (B,) class numbers; the model gives logits (B, labels). Losses, scores and the arguments
    that are not named here: see `ClassificationTask`.

    Args:
        label_names: labels of a `pretrained` encoder whose classification head is new. A checkpoint that has such a
            head keeps the labels that it was trained for.

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
        if label_names is None or _has_classification_head(pretrained):
            return super().load_pretrained(pretrained)
        return self.auto_class.from_pretrained(
            pretrained,
            use_safetensors=True,
            dtype=torch.float32,  # to train in, whatever the checkpoint keeps
            **label_fields(label_names),
        )

    def classified(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return logits, labels


def _has_classification_head(pretrained: str) -> bool:
    architectures = AutoConfig.from_pretrained(pretrained).architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)
