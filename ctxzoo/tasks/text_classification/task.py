"""Classes of texts for Lightning: cross-entropy, accuracy, macro F1, calibration; of texts with a known word, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from ctxzoo.data.own_splits import hash_normalized_text, number_groups_by_key
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.reader import note_contradictory_labels
from ctxzoo.training.classification import ClassificationScores, ClassificationTask
from ctxzoo.training.scoring import build_scoring_trainer, load_task, load_tokenizer, score_splits


class TextScores(ClassificationScores):
    """The scores of `ClassificationScores` over all texts; where some have no known word, for a model to read, also:

    `known_accuracy`, over the texts with a known word, and `known_share`, how many of all these are, in percent.

    Args:
        num_labels: Number of labels L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__(num_labels)
        self.known_accuracy = MulticlassAccuracy(num_labels, average="micro")
        self.known_share = MeanMetric()

    def update_texts(self, logits: torch.Tensor, labels: torch.Tensor, has_known_word: torch.Tensor) -> None:
        """Add logits (N, L) of texts with the labels (N,); `has_known_word`, boolean (N,): those with a known word."""
        self.update(logits, labels)
        self.known_share.update(has_known_word.float())
        if has_known_word.any():
            self.known_accuracy.update(logits[has_known_word], labels[has_known_word])

    def compute(self) -> dict[str, float]:
        scores = super().compute()
        fraction = float(self.known_share.compute())
        if 0 < fraction < 1:
            scores["known_accuracy"] = 100.0 * float(self.known_accuracy.compute())
            scores["known_share"] = 100.0 * fraction
        return scores


class SequenceClassificationTask(ClassificationTask):
    """Trains and scores any classifier of the zoo with one label for each text.

    A batch holds `labels`, (B,) class numbers; the model gives logits (B, labels). Losses, arguments and errors: see
    `ClassificationTask`. Scores: those of `TextScores`; a text without a known word is one whose `attention_mask` is 0
    throughout.
    """

    auto_class = AutoModelForSequenceClassification

    def build_scores(self) -> TextScores:
        return TextScores(self.model.config.num_labels)

    def update_scores(self, scores: TextScores, batch: dict[str, torch.Tensor], split: str) -> None:  # type: ignore[override]
        # In float32 also under mixed precision.
        scores.update_texts(
            self._compute_model_output(batch).logits.float(), batch["labels"], batch["attention_mask"].any(dim=1)
        )

    def select_labelled_logits(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return logits, labels


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
    **data_options: Any,
) -> dict[str, float]:
    """Score a classifier on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id with model and tokenizer, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated texts). The rows of a file are its
            split "train", unless `dev_share` holds some out as "validation".
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.
        data_options: Further arguments of `TextClassificationDataModule`, such as data_dir; after cross-validation, the
            folds, fold and fold_seed of the training, since other folds contain its training texts.

    Returns:
        Name to score, named as in `SequenceClassificationTask` without the split's name in front; percentages but for
        `nll` (nats).

    Raises:
        OSError: there is no such checkpoint or dataset.
        TypeError: an option that the DataModule does not have.
        ValueError: a row has a label that the model does not have, unless it is left out with `--skip_bad`; no such
            split; a checkpoint of another problem; a model without its tokenizer.
    """
    if Path(dataset).is_file():
        data_options = {"dev_share": 0.0, **data_options}
    task = load_task(SequenceClassificationTask, checkpoint)
    data = TextClassificationDataModule.from_options(
        dataset,
        eval_batch_size=batch_size,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        known_labels=get_label_names(task.model.config),
        **{"divide": False, **data_options},
    )
    data.setup()
    rows = data.rows(split)
    groups = number_groups_by_key({split: map(hash_normalized_text, data.texts(split).select(rows)["text"])})[split]
    where = dataset if Path(dataset).is_file() else f"dataset {dataset!r}, split {split!r}"
    note_contradictory_labels(where, groups, data.labels(split))
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def evaluate_ensemble(
    checkpoints: Sequence[str],
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
    **data_options: Any,
) -> dict[str, dict[str, float]]:
    """Score classifiers together: each label has the mean of their probabilities.

    They may differ in anything but their labels; each reads the texts with its own tokenizer.

    Args:
        checkpoints: Checkpoint folders or Hub ids, each with model and tokenizer, whose probabilities are averaged.
        dataset, batch_size, precision, accelerator, progress, data_options: Data, batch size, precision, kind of
            device, progress bar, and data options, as in `evaluate`.
        splits: Names of the splits to score, such as "validation" and "test".

    Returns:
        Split name to metrics, named as in `SequenceClassificationTask` without the split's name in front.

    Raises:
        ValueError: no checkpoint; checkpoints with other labels; a label of the data that they do not have.
    """
    if not checkpoints:
        raise ValueError("checkpoints is empty; give one or more to take the mean of")
    log_probabilities: dict[str, list[torch.Tensor]] = {split: [] for split in splits}
    names: list[str] = []
    for member in checkpoints:
        task = SequenceClassificationTask(pretrained=member)
        names = names or get_label_names(task.model.config)
        labels = get_label_names(task.model.config)
        if labels != names:
            raise ValueError(
                f"{member!r} has the labels {labels}, {checkpoints[0]!r} {names}; expected the same in the same order"
            )
        data = TextClassificationDataModule.from_options(
            dataset,
            eval_batch_size=batch_size,
            tokenizer=AutoTokenizer.from_pretrained(member),
            known_labels=names,
            **{"divide": False, **data_options},
        )
        data.setup()
        scorer = build_scoring_trainer(data, precision=precision, accelerator=accelerator, progress=progress)
        for split in splits:
            batches = scorer.predict(task, data.split_dataloader(split))
            rows, logits = (torch.cat([batch[name] for batch in batches or []]) for name in ("row", "logits"))
            log_probabilities[split].append(logits[rows.argsort()].log_softmax(dim=1))
    scores = {}
    for split in splits:
        mean = torch.stack(log_probabilities[split]).logsumexp(dim=0) - math.log(len(checkpoints))
        of_split = ClassificationScores(mean.size(1))
        of_split.update(mean, torch.from_numpy(data.labels(split)))
        scores[split] = of_split.compute()
    return scores
