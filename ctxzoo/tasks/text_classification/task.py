"""Labels of texts for Lightning, one for each or any number: losses, scores, and thresholds chosen on validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch.trainer.states import TrainerFn
from torch.nn import functional as F
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from ctxzoo.data.bucketing import disable_distributed_sharding
from ctxzoo.data.own_splits import hash_normalized_text, number_groups_by_key
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.metrics.label_scores import (
    SET_SCORES,
    LabelPairs,
    LabelSetScores,
    choose_unsure_threshold,
    tabulate_counts,
    tabulate_pairs,
)
from ctxzoo.metrics.label_threshold import USUAL_THRESHOLD, get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.reader import note_contradictory_labels
from ctxzoo.training.classification import ClassificationScores, ClassificationTask, label_fields
from ctxzoo.training.scoring import build_scoring_trainer, load_task, load_tokenizer, score_splits
from ctxzoo.training.task import Scores


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
        self.pairs = LabelPairs(num_labels)

    def update_texts(self, logits: torch.Tensor, labels: torch.Tensor, has_known_word: torch.Tensor) -> None:
        """Add logits (N, L) of texts with the labels (N,); `has_known_word`, boolean (N,): those with a known word."""
        self.update(logits, labels)
        self.pairs.update(logits.argmax(dim=1), labels)
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


class LabelSetTextScores(Scores):
    """Micro and macro F1 and exact match of texts with any number of labels, and their negative log-likelihood.

    `nll` is the binary cross-entropy in nats, the mean over texts and labels; `known_share` is there where some texts
    have no known word: how many have one, in percent. See `LabelSetScores`.

    Args:
        num_labels: Number of labels L.
        threshold: Probability from which the model predicts a label; None: not chosen.
    """

    def __init__(self, num_labels: int, threshold: float | None) -> None:
        super().__init__()
        self.sets = LabelSetScores(num_labels, threshold)
        self.nll = MeanMetric(nan_strategy="disable")
        self.known_share = MeanMetric()

    def update_texts(self, logits: torch.Tensor, labels: torch.Tensor, has_known_word: torch.Tensor) -> None:
        """Add logits (N, L) of texts with labels (N, L) of 0 and 1; `has_known_word` is boolean (N,)."""
        losses = F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none")
        self.nll.update(losses.mean(dim=1))
        self.sets.update(logits.sigmoid(), labels)
        self.known_share.update(has_known_word.float())

    def compute(self, threshold: float) -> dict[str, float]:
        """Return the scores by name, where labels are predicted from a threshold on."""
        fraction = float(self.known_share.compute())
        known = {"known_share": 100.0 * fraction} if 0 < fraction < 1 else {}
        return {**self.sets.compute_at(threshold), "nll": float(self.nll.compute()), **known}


class SequenceClassificationTask(ClassificationTask):
    """Trains and scores any classifier of the zoo with one label for each text, or with any number of labels.

    A batch holds `labels`, (B,) class numbers; the model gives logits (B, labels). Losses, arguments and errors: see
    `ClassificationTask`. Scores: those of `TextScores`; a text without a known word is one whose `attention_mask` is 0
    throughout.

    Where the `problem_type` of the config says that a text may have several labels, `labels` are (B, L) 0 and 1, the
    loss is the binary cross-entropy, the mean over texts and labels, and scores are those of `LabelSetTextScores`.
    Smoothing then moves each target by half of it towards .5. While it is fitted, scores are those at the best
    threshold; then those at the config's `label_threshold`, which `choose_thresholds` sets, or .5.

    Args:
        several_labels: Whether a text may have several labels, for a `pretrained` model with `label_names`; a head of
            the other kind is replaced with a warning.
        objective: Name of the score by which the threshold is chosen: micro_f1, macro_f1 or exact_match.
        class_weights: Weight of each class, as in `ClassificationTask`; where a text may have several labels, weight of
            the texts of each label beside those that do not have it.

    Attributes:
        label_tables: Name of each split that was tested to the scores of each label, see `tabulate_pairs`.
    """

    auto_class = AutoModelForSequenceClassification

    def __init__(
        self, *args: Any, several_labels: bool = False, objective: str = SET_SCORES[0], **options: Any
    ) -> None:
        if objective not in SET_SCORES:
            raise ValueError(f"objective={objective!r}: a threshold is chosen by one of {', '.join(SET_SCORES)}")
        super().__init__(*args, **options)
        self.label_tables: dict[str, dict[str, Any]] = {}
        if self.has_several_labels:
            self.monitor = f"validation/{objective}"

    @property
    def has_several_labels(self) -> bool:
        """Whether the model gives a text any number of labels."""
        return bool(self.model.config.problem_type == SEVERAL_LABELS)

    def build_label_fields(self, pretrained: str, label_names: Sequence[str]) -> dict[str, Any]:
        theirs = AutoConfig.from_pretrained(pretrained)
        # Those of a model of others have no place for thresholds.
        old = {name: None for name in ("problem_type", "label_threshold", "unsure_below") if hasattr(theirs, name)}
        return {**old, **label_fields(label_names, several=self.hparams["several_labels"])}

    def setup(self, stage: str) -> None:
        """Raise an error if the data has other labels than the model, or another number of them for a text."""
        super().setup(stage)
        several = getattr(self.trainer.datamodule, "has_several_labels", None)
        if several is not None and several != self.has_several_labels:
            kinds = ("one label for each text", "any number of labels for each text")
            raise ValueError(
                f"the model gives {kinds[self.has_several_labels]}, the data have {kinds[several]}; build its config "
                "with **label_fields(data.label_names, several=data.has_several_labels)"
            )

    def build_scores(self) -> Any:
        config = self.model.config
        if self.has_several_labels:
            return LabelSetTextScores(config.num_labels, getattr(config, "label_threshold", None))
        return TextScores(config.num_labels)

    def update_scores(self, scores: Any, batch: dict[str, torch.Tensor], split: str) -> None:
        # In float32 also under mixed precision.
        scores.update_texts(
            self._compute_model_output(batch).logits.float(), batch["labels"], batch["attention_mask"].any(dim=1)
        )

    def compute_scores(self, scores: Any) -> dict[str, float]:
        names, is_test = get_label_names(self.model.config), scores is self.scores["test"]
        if not self.has_several_labels:
            if is_test:
                self.label_tables[self.test_split] = tabulate_pairs(scores.pairs.compute().cpu().numpy(), names)
            return super().compute_scores(scores)
        threshold = get_label_threshold(self.model.config)
        if self.trainer.state.fn == TrainerFn.FITTING:
            threshold = scores.sets.choose_threshold(self.hparams["objective"])
        if is_test:
            place = scores.sets.thresholds.index(threshold)
            found, right, _ = (counts[place].cpu().numpy() for counts in scores.sets.count_at_thresholds())
            table = tabulate_counts(names, scores.sets.true.cpu().numpy(), found, right)
            self.label_tables[self.test_split] = {**table, "threshold": threshold}
        found_scores: dict[str, float] = scores.compute(threshold)
        return found_scores

    def compute_label_loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if not self.has_several_labels:
            return super().compute_label_loss(logits, labels)
        smoothing = self.hparams["label_smoothing"]
        targets = labels.to(logits.dtype) * (1 - smoothing) + smoothing / 2
        return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=self.class_weights)

    def select_labelled_logits(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return logits, labels

    def get_frozen_weights(self) -> dict[str, torch.Tensor]:
        frozen, wide = super().get_frozen_weights(), getattr(self.model, "wide", None)
        if wide is None or wide.ids is None or any(one.requires_grad for one in wide.parameters()):
            return frozen
        # A training that resumes has fitted it again.
        return frozen | {name: one for name, one in self.state_dict().items() if name.startswith("model.wide.")}


def choose_thresholds(task: SequenceClassificationTask, data: Any) -> list[str]:
    """Choose `label_threshold` and `unsure_below` of a model's config on the validation rows of a DataModule.

    The first is where the score that the task names as its objective is best; the second tells wrong predictions from
    right ones best, see `choose_unsure_threshold`.

    Args:
        task: LightningModule whose model is trained.
        data: DataModule after its `setup`, with a split "validation".

    Returns:
        Sentences on what was chosen, for a person.
    """
    device, config = task.model.device, task.model.config
    if not hasattr(config, "unsure_below"):
        return []  # a model of others, whose config has no place for them
    trainer = build_scoring_trainer(data, precision="32-true", accelerator="auto", progress=False)
    with disable_distributed_sharding():  # of several processes each chooses the same on all rows
        batches = trainer.predict(task, data.split_dataloader("validation"))
    task.model.to(device)
    rows, logits = (torch.cat([batch[name] for batch in batches or []]) for name in ("row", "logits"))
    _, order = np.unique(rows.numpy(), return_index=True)
    logits, labels = logits[order], torch.from_numpy(data.labels("validation"))
    lines = []
    if task.has_several_labels:
        sets, objective = LabelSetScores(config.num_labels), task.hparams["objective"]
        sets.update(logits.sigmoid(), labels)
        config.label_threshold = sets.choose_threshold(objective)
        lines.append(
            f"labels are given from a probability of {config.label_threshold:g} on, chosen on validation by "
            f"{objective.replace('_', ' ')}"
        )
    probabilities, is_right = judge_predictions(logits, labels, getattr(config, "label_threshold", None))
    config.unsure_below = choose_unsure_threshold(probabilities, is_right)
    if config.unsure_below is not None:
        is_unsure = probabilities < config.unsure_below
        wrong = 100 * (~is_right[is_unsure]).mean(), 100 * (~is_right[~is_unsure]).mean() if not is_unsure.all() else 0
        lines.append(
            f"unsure is a probability below {config.unsure_below:.3f}: {is_unsure.sum():,} of the {len(is_right):,} "
            f"texts of validation, of which {wrong[0]:.0f} % are wrong, of the others {wrong[1]:.0f} % "
            "(ctxzoo predict --unsure auto)"
        )
    return lines


def judge_predictions(logits: torch.Tensor, labels: torch.Tensor, threshold: float | None) -> tuple[Any, Any]:
    """Return the probability of each text's prediction, (N,), and whether it is right, as arrays.

    Of several labels the probability is that of the least sure one, be it given or not.

    Args:
        logits: (N, L) scores.
        labels: (N,) classes, or (N, L) 0 and 1.
        threshold: Probability from which a label of several is given.
    """
    if labels.dim() == 1:
        probabilities, predicted = logits.double().softmax(dim=1).max(dim=1)
        return probabilities.numpy(), (predicted == labels).numpy()
    probabilities = logits.double().sigmoid()
    given = probabilities >= (USUAL_THRESHOLD if threshold is None else threshold)
    sure = torch.where(given, probabilities, 1 - probabilities).amin(dim=1)
    return sure.numpy(), (given == labels.bool()).all(dim=1).numpy()


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
            split "train", unless `dev_share` holds some out as "validation"; so are those of a folder's training file.
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
        OSError, TypeError, ValueError: as in `evaluate_labels`.
    """
    return evaluate_labels(
        checkpoint,
        dataset,
        split,
        tokenizer=tokenizer,
        batch_size=batch_size,
        precision=precision,
        accelerator=accelerator,
        progress=progress,
        **data_options,
    )[0]


def evaluate_labels(
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
) -> tuple[dict[str, float], dict[str, Any]]:
    """Score a classifier on a split, and each of its labels; arguments as in `evaluate`.

    Returns:
        The scores of `evaluate`, and those of each label as `tabulate_pairs` has them.

    Raises:
        OSError: there is no such checkpoint or dataset.
        TypeError: an option that the DataModule does not have.
        ValueError: a row has a label that the model does not have, unless it is left out with `--skip_bad`; no such
            split; a checkpoint of another problem; a model without its tokenizer.
    """
    if Path(dataset).is_file() or (split == "train" and Path(dataset).is_dir()):
        data_options = {"dev_share": 0.0, **data_options}  # all of its rows
    task = load_task(SequenceClassificationTask, checkpoint)
    data = TextClassificationDataModule.from_options(
        dataset,
        eval_batch_size=batch_size,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        known_labels=get_label_names(task.model.config),
        several_labels=task.has_several_labels,
        **{"divide": False, **data_options},
    )
    data.setup()
    rows = data.rows(split)
    groups = number_groups_by_key({split: map(hash_normalized_text, data.texts(split).select(rows)["text"])})[split]
    where = dataset if Path(dataset).is_file() else f"dataset {dataset!r}, split {split!r}"
    note_contradictory_labels(where, groups, data.labels(split))
    scores = score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
    return scores, task.label_tables[split]


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
        if task.has_several_labels:
            raise ValueError(f"{member!r} gives a text several labels; ensembles are of models that give one")
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
