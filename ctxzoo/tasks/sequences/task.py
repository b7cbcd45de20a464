"""What comes next, for Lightning: behind every step of every sequence at once, and its scores over every prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric
from transformers import PreTrainedModel

from ctxzoo.metrics import MeanReciprocalRankAtK, NdcgAtK, RecallAtK
from ctxzoo.metrics.next_item import Ties, target_ranks
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.sequences.data import HistoryDataModule, SequencesDataModule, SessionDataModule
from ctxzoo.tasks.sequences.experiments import LONGEST_LIST
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, SequenceKind
from ctxzoo.training.scoring import build_scoring_trainer, load_task, score_splits
from ctxzoo.training.task import AutoHead, Scores, ZooTask, select_model_inputs


class SequenceScores(Scores):
    """Recall@k, MRR@k and NDCG@k in percent, and nats of a prediction, over all predictions of a split.

    `recall_at_20` (also called hit rate), `mrr_at_20` and `ndcg_at_20`: see `ctxzoo.metrics.RecallAtK`,
    `MeanReciprocalRankAtK` and `NdcgAtK`. `nll`: the negative log-likelihood of the item that came. Each prediction
    counts alike, however long its sequence.

    Args:
        ties: Rank of the target among items with the same score: "pessimistic", the last; "optimistic", the first; as
            in `ctxzoo.metrics.target_ranks`.
        at: Lengths k of further lists that are scored; default: none beside the usual ones.

    Raises:
        ValueError: another name of `ties`; a k below 1 or above 1,000.
    """

    recalls: ClassVar[Sequence[int]]  # usual lengths k of the lists that are scored
    reciprocal_ranks: ClassVar[Sequence[int]]

    def __init__(self, ties: Ties = "pessimistic", at: Sequence[int] | None = None) -> None:
        super().__init__()
        self.ties: Ties = ties
        further = check_list_lengths(at or ())
        for k in dict.fromkeys((*self.recalls, *further)):
            self.add_module(f"recall_at_{k}", RecallAtK(k, ties=ties))
        for k in dict.fromkeys((*self.reciprocal_ranks, *further)):
            self.add_module(f"mrr_at_{k}", MeanReciprocalRankAtK(k, ties=ties))
            self.add_module(f"ndcg_at_{k}", NdcgAtK(k, ties=ties))
        # Other strategies leave predictions with NaN out of the mean.
        self.nll = MeanMetric(nan_strategy="disable")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add n predictions: logits (n, N) of all N items, and the items that came next (n,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        ranks = target_ranks(logits, labels, self.ties)
        for name, metric in self.named_children():
            if name != "nll":
                metric.update(logits, labels, ranks)  # type: ignore[operator]

    def compute(self) -> dict[str, float]:
        """Return the scores, by name, over all that was added."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: value if name == "nll" else 100 * value for name, value in values.items()}


class SessionScores(SequenceScores):
    """Recall@k, MRR@k and NDCG@k in percent, k = 10 and 20, and nats of a prediction, over all predictions of a split.

    Args:
        ties, at: Treatment of equal scores, and further lengths k, as in `SequenceScores`.
    """

    recalls = reciprocal_ranks = (10, 20)


class EventScores(SequenceScores):
    """Recall@1, 5 and 20, MRR@20 and NDCG@20 in percent, and nats of a prediction, over all predictions of a split.

    Recall@1 is the accuracy. Where there are 20 kinds of events or fewer, recall@20 is 100, and MRR@20 is the MRR.

    Args:
        ties, at: Treatment of equal scores, and further lengths k, as in `SequenceScores`.
    """

    recalls, reciprocal_ranks = (1, 5, 20), (20,)


def check_list_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    """Return lengths k of lists of recommendations, checked.

    Raises:
        ValueError: one below 1 or above `LONGEST_LIST`.
    """
    odd = next((k for k in lengths if not 1 <= k <= LONGEST_LIST), None)
    if odd is not None:
        raise ValueError(f"at={odd}: expected lengths of lists of recommendations, 1 to {LONGEST_LIST:,}")
    return tuple(lengths)


class SequenceTask(ZooTask):
    """Trains and scores a model that predicts each thing of a sequence from those before it, all of them in one pass.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.
        ties: Rank of the target among items or events with the same score: "pessimistic", the last; "optimistic", the
            first.
        at: Lengths k of further lists that are scored, as in `SequenceScores`.

    Raises:
        ValueError: see `ZooTask`; another name of `ties`, or a k below 1 or above 1,000.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    kind: ClassVar[SequenceKind]
    scores_class: ClassVar[type[SequenceScores]]

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        ties: Ties = "pessimistic",
        at: Sequence[int] | None = None,
        **optimizer_args: Any,
    ) -> None:
        super().__init__(model_config, pretrained, model=model, **optimizer_args)

    def build_scores(self) -> SequenceScores:
        """Return empty scores of rankings."""
        return self.scores_class(self.hparams["ties"], self.hparams["at"])

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the model's loss on a batch."""
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        return f"{self.kind.several} of the batch in the training split: {rows}"

    @abstractmethod
    def compute_logits_and_labels(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits of all N items (B, T, N) and the items that came next (B, T), -100 for none.

        Args:
            inputs: Input tensors of the model, and the tensor `labels` of the batch.
        """

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return for each row of a batch its number `row`, how many `predictions` it has, and the `ranks` (B, T) of its
        targets, 0 where nothing is predicted.
        """
        logits, labels = self.compute_logits_and_labels(select_model_inputs(batch))
        counts = labels != IGNORED
        ranks = torch.zeros_like(labels)
        ranks[counts] = target_ranks(logits[counts].float(), labels[counts], self.hparams["ties"])
        return {"row": batch["row"], "predictions": counts.sum(dim=1), "ranks": ranks}

    def update_scores(self, scores: SequenceScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the ranks of a batch's targets to the scores, without ignored positions."""
        logits, labels = self.compute_logits_and_labels(select_model_inputs(batch))
        counts = labels != IGNORED
        scores.update(logits[counts].float(), labels[counts])  # float: also under mixed precision

    def compute_scores(self, scores: SequenceScores) -> dict[str, float]:
        """Return the scores by name."""
        return scores.compute()


class SessionRecommendationTask(SequenceTask):
    """Trains and scores a model that predicts the next item of a session; arguments and errors as of `SequenceTask`.

    A batch holds what `collate_sessions` gives. The objective is the sum over a session, the mean over the sessions of
    a batch: sessions of one batch are about as long, and a mean over predictions would weigh those of short sessions
    more. Behind each step of the optimizer the model puts parameters back into their range.
    """

    auto_class = AutoHead("session-recommendation")
    monitor = "validation/recall_at_20"
    kind, scores_class = SESSIONS, SessionScores

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Step the optimizer, then let the model bring its parameters back into their allowed ranges."""
        super().optimizer_step(*args, **kwargs)
        self.model.project_parameters()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss for each session, summed over its positions."""
        loss: torch.Tensor = self.model(**select_model_inputs(batch), every_position=True).loss
        return loss * (batch["labels"] != IGNORED).sum() / len(batch["labels"])

    def compute_logits_and_labels(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, L, items) at every position and the next items (B, L)."""
        labels = inputs.pop("labels")
        return self.model(**inputs, every_position=True).logits, labels


class NextEventTask(SequenceTask):
    """Trains and scores a model that predicts the next event of a history; arguments and errors as of `SequenceTask`.

    A batch holds what `collate_histories` gives. The objective is the mean over the predictions of a batch.
    """

    auto_class = AutoHead("next-event")
    monitor = "validation/recall_at_1"
    kind, scores_class = HISTORIES, EventScores

    def compute_logits_and_labels(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, L-1, events) at all events but the last, and the events that follow (B, L-1)."""
        labels = inputs.pop("labels")
        return self.model(**inputs).logits[:, :-1], labels[:, 1:]


LIST_LENGTH = 20  # of the lists of recommendations by which sessions are compared


def evaluate_sessions(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    user_column: str = "user",
    item_column: str = "item",
    time_column: str = "time",
    max_length: int | None = None,
    ties: Ties = "pessimistic",
    at: Sequence[int] | None = None,
    batch_size: int = 16,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Return a recommender's scores on a split by name; for a checkpoint those that its training reported.

    Every item of every session but the first is to be predicted. Those that the model does not know, by their names,
    are misses, and so are those before which it knows none; from the history of the others unknown items are left out.
    Results of recipes are over known targets alone: `recall_at_20_known` and so on.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated sessions).
        split: Name of the split, such as "test".
        tokenizer: None; accepted for uniformity, since sessions have no tokenizer.
        data_dir, user_column, item_column, time_column: Folder of datasets, and names of the user, item and time
            columns, as in `SessionDataModule`.
        max_length: Largest number of previous items that a prediction reads; default: as in training.
        ties: Rank of the target among items with the same score: "pessimistic", the last; "optimistic", the first.
        at: Lengths k of further lists of recommendations that are scored, such as (5, 50).
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        Recall, MRR and NDCG at 10, 20 and `at`, such as `recall_at_20`, in percent, and `nll`; see `SessionScores`. The
        numbers `targets` and `unknown_targets`, and where there are such the scores over known targets alone, under
        the same names and `_known`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; another name of `ties`.
    """
    columns = {"user_column": user_column, "item_column": item_column, "time_column": time_column}
    data = {"data_dir": data_dir, **columns, "max_length": max_length, "eval_batch_size": batch_size}
    how = {"precision": precision, "accelerator": accelerator, "progress": progress}
    return _evaluate_sequences(
        SessionRecommendationTask, SessionDataModule, checkpoint, dataset, split, (ties, at), data, how
    )


def evaluate_histories(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    user_column: str = "user",
    item_column: str = "item",
    time_column: str = "time",
    max_length: int | None = None,
    ties: Ties = "pessimistic",
    at: Sequence[int] | None = None,
    batch_size: int = 32,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Return the scores of a model of next events on a split by name; for a checkpoint those of its training.

    Every event of every history but the first is to be predicted. Unknown ones count as unknown items do, see
    `ctxzoo.tasks.session_recommendation.evaluate`.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated histories).
        split: Name of the split, such as "test".
        tokenizer: None; accepted for uniformity, since histories have no tokenizer.
        data_dir, user_column, item_column, time_column: Folder of datasets, and names of the user, event and time
            columns, as in `HistoryDataModule`.
        max_length: Largest number of previous events that a prediction reads; default: as in training.
        ties: Rank of the target among events with the same score: "pessimistic", the last; "optimistic", the first.
        at: Lengths k of further lists that are scored, such as (5, 50).
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        `recall_at_1`, `recall_at_5`, `recall_at_20`, `mrr_at_20` and `ndcg_at_20` in percent, the same at `at`, and
        `nll`, see `EventScores`; and the counts that are told there.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; another name of `ties`.
    """
    columns = {"user_column": user_column, "item_column": item_column, "time_column": time_column}
    data = {"data_dir": data_dir, **columns, "max_length": max_length, "eval_batch_size": batch_size}
    how = {"precision": precision, "accelerator": accelerator, "progress": progress}
    return _evaluate_sequences(NextEventTask, HistoryDataModule, checkpoint, dataset, split, (ties, at), data, how)


def _evaluate_sequences(
    task_class: type[SequenceTask],
    data_class: type[SequencesDataModule[Any]],
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str,
    scored: tuple[Ties, Sequence[int] | None],
    data_options: Mapping[str, Any],
    run_options: Mapping[str, Any],
) -> dict[str, float]:
    """Return the scores of a checkpoint on a split of sessions or histories, with the names that the model knows.

    `scored` are the arguments of `SequenceScores`; of the others those of `evaluate_sessions` are made.
    """
    scores_of_test = task_class.scores_class(*scored)  # an error now, before anything is loaded
    task = load_task(task_class, checkpoint)
    task.scores["test"] = scores_of_test
    config = task.model.config
    name_options = {
        "max_length": data_options["max_length"] or config.max_history,
        task.kind.names_argument: config.get_row_names(),
    }
    data = data_class(dataset, divide=False, **{**data_options, **name_options})
    data.setup()
    scores = score_splits(task, data, (split,), **run_options)[split]
    return add_unknown_targets(scores, data.targets[split], data.unknown_targets[split])


def add_unknown_targets(
    scores: Mapping[str, float], targets: int, unknown: int, are_misses: bool = True
) -> dict[str, float]:
    """Return `SequenceScores` scores in which targets that a model cannot name count as misses.

    Args:
        scores: Metric values, by name, averaged over the targets that the model knows.
        targets: Number of all targets: every element of every sequence but the first.
        unknown: Number of targets that the model does not know, or that no known element precedes.
        are_misses: Whether unknown targets count as wrong predictions; otherwise the scores stay averages over the
            known targets.

    Returns:
        The scores, where some targets are unknown and count also those over the known ones alone, under their name and
        `_known`; `targets` and `unknown_targets`. `nll` is over the known ones: a miss has no probability.
    """
    result = dict(scores)
    if unknown and are_misses:
        for name, value in scores.items():
            if name != "nll":
                result |= {name: value * (targets - unknown) / targets, f"{name}_known": value}
    return {**result, "targets": targets, "unknown_targets": unknown}


@dataclass(frozen=True)
class SessionScore:
    """The score of one session.

    Attributes:
        row: Row of the session in `SessionDataModule.sequences`, from 0.
        predictions: Number of items of the session that were predicted.
        recall_at_20: Number of those items that were among the 20 highest scores.
        mrr_at_20: Sum of the reciprocal ranks of those among the 20 highest scores.
    """

    row: int
    predictions: int
    recall_at_20: int
    mrr_at_20: float


def session_scores(
    model: PreTrainedModel, data: SessionDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[SessionScore]:
    """Return the score of each session of a split, by row, for paired tests; a tie counts as a worse rank.

    Args:
        model: Recommendation model that predicts the next item of a session.
        data: DataModule after its `setup`.
        split: Name of the split, such as "test".
        accelerator: Kind of device, as Lightning's Trainer takes it, such as "auto", "cpu" or "gpu".

    Raises:
        ValueError: no such split; a model of another problem.
    """
    task = load_task(SessionRecommendationTask, model)
    device = task.model.device
    trainer = build_scoring_trainer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    task.model.to(device)  # Lightning leaves it on the CPU
    score_of_row: dict[int, SessionScore] = {}
    for batch in batches:
        for row, of_row in zip(batch["row"].tolist(), batch["ranks"].tolist(), strict=True):
            ranks = [rank for rank in of_row if rank]  # 0 where nothing is predicted
            listed = [rank for rank in ranks if rank <= LIST_LENGTH]
            score_of_row[row] = SessionScore(row, len(ranks), len(listed), sum(1 / rank for rank in listed))
    return [score_of_row[row] for row in sorted(score_of_row)]
