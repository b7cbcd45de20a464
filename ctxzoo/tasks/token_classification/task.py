"""Classes of words for Lightning, the scores of a tagger on a split, and its tags of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForTokenClassification, PreTrainedModel

from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.metrics.spans import SpanScores
from ctxzoo.models.ops_bilstm_tagger import BIO, recognise_scheme
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.training.classification import ClassificationScores, ClassificationTask
from ctxzoo.training.scoring import load_task, load_tokenizer, score_splits
from ctxzoo.training.task import select_model_inputs


class TagScores(ClassificationScores):
    """The scores of `ClassificationScores` over words and, where tags are those of spans, of `SpanScores`.

    Args:
        tags: Names of the tags, in the order of their numbers.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        super().__init__(len(tags))
        self.spans = None if recognise_scheme(tags) is None else SpanScores(tags)

    def compute(self) -> dict[str, float]:
        spans = {} if self.spans is None else self.spans.compute()
        return {**super().compute(), **spans}


class TokenClassificationTask(ClassificationTask):
    """Trains and scores any tagger of the zoo: one label for each word.

    A batch holds `labels`, (B, n) class numbers, -100 at padding and at words that do not count; the model gives logits
    (B, n, labels). Losses and scores are means over the words that count, of a batch and of the whole split. Where tags
    are those of spans, as B-PER and O, `span_f1` and the other scores of `SpanScores` are there too. Arguments and
    errors: see `ClassificationTask`.
    """

    auto_class = AutoModelForTokenClassification

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        smoothing = self.hparams["label_smoothing"]
        if self._has_crf and smoothing:
            raise ValueError(
                f"label_smoothing={smoothing} beside crf=True: a CRF has no smoothing; set label_smoothing=0 "
                "or crf=False"
            )

    def build_label_fields(self, pretrained: str, label_names: Sequence[str]) -> dict[str, Any]:
        fields = super().build_label_fields(pretrained, label_names)
        theirs = getattr(AutoConfig.from_pretrained(pretrained), "scheme", None)
        if theirs is None:
            return fields
        scheme = recognise_scheme(label_names)
        kept = theirs if theirs in ("IOB1", "IOB2") else "IOB2"  # of BIO, which names do not tell apart
        return {**fields, "scheme": kept if scheme == BIO else scheme}

    @property
    def _has_crf(self) -> bool:
        return bool(getattr(self.model.config, "crf", False))

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if not self._has_crf:
            return super().compute_training_loss(batch)
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def select_labelled_logits(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = labels != IGNORED
        return logits[counts], labels[counts]

    def build_scores(self) -> TagScores:
        return TagScores(get_label_names(self.model.config))

    def update_scores(self, scores: Any, batch: dict[str, torch.Tensor], split: str) -> None:
        logits, labels = self._compute_model_output(batch).logits.float(), batch["labels"]
        scores.update(*self.select_labelled_logits(logits, labels))
        if scores.spans is not None:
            scores.spans.update(logits.argmax(dim=2), labels, labels != IGNORED)


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    tag_column: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a tagger on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id with model and tokenizer, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated sentences).
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        data_dir, tag_column: Folder of datasets, and name of the column of tags, as in `TokenClassificationDataModule`.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        Name to score, named as in `TokenClassificationTask` without the split's name in front; percentages but for
        `nll` (nats) and numbers of spans.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: a sentence has a tag that the model does not have, unless it is left out with `--skip_bad`; no such
            split; a checkpoint of another problem; a model without its tokenizer.
    """
    task = load_task(TokenClassificationTask, checkpoint)
    data = TokenClassificationDataModule(
        dataset,
        data_dir=data_dir,
        tag_column=tag_column,
        eval_batch_size=batch_size,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        known_labels=get_label_names(task.model.config),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
