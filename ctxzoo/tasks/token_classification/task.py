"""Classes of words for Lightning: cross-entropy and accuracy over the words of all texts."""

from __future__ import annotations

import torch
from transformers import AutoModelForTokenClassification

from ctxzoo.models.ops_words import IGNORED
from ctxzoo.training.classification import ClassificationTask


class TokenClassificationTask(ClassificationTask):
    """Trains and scores any tagger of the zoo: one label for each word.

    A batch holds `labels`, (B, n) class numbers, -100 at padding and at words that do not count; the model gives logits
    (B, n, labels). Losses and scores are means over the words that count, of a batch and of the whole split. Arguments
    and errors: see `ClassificationTask`.
    """

    auto_class = AutoModelForTokenClassification

    def classified(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = labels != IGNORED
        return logits[counts], labels[counts]
