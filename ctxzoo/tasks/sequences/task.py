"""What comes next, for Lightning: behind every step of every sequence at once, and its scores over every prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric

from ctxzoo.metrics import MeanReciprocalRankAtK, RecallAtK
from ctxzoo.metrics.next_item import Ties, target_ranks
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, SequenceKind
from ctxzoo.training.task import AutoHead, Scores, ZooTask, model_inputs


class SequenceScores(Scores):
    """Recall@k and MRR@k in percent, and nats of a prediction, over all predictions of a split.

    `recall_at_20` and `mrr_at_20`: see `ctxzoo.metrics.RecallAtK` and `MeanReciprocalRankAtK`. `nll`: the negative
    log-likelihood of the item that came. Each prediction counts alike, however long its sequence.

    Args:
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.

    Raises:
        ValueError: another name of `ties`.
    """

    recalls: ClassVar[Sequence[int]]  # lengths k of the lists that are scored
    reciprocal_ranks: ClassVar[Sequence[int]]

    def __init__(self, ties: Ties = "pessimistic") -> None:
        super().__init__()
        for k in self.recalls:
            self.add_module(f"recall_at_{k}", RecallAtK(k, ties=ties))
        for k in self.reciprocal_ranks:
            self.add_module(f"mrr_at_{k}", MeanReciprocalRankAtK(k, ties=ties))
        # Other strategies leave predictions with NaN out of the mean.
        self.nll = MeanMetric(nan_strategy="disable")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add predictions: logits (n, N) of all items and the items that came (n,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        for name, metric in self.named_children():
            if name != "nll":
                metric.update(logits, labels)  # type: ignore[operator]

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: value if name == "nll" else 100 * value for name, value in values.items()}


class SessionScores(SequenceScores):
    """Recall@k and MRR@k in percent, k = 10 and 20, and nats of a prediction, over all predictions of a split.

    Args:
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    recalls = reciprocal_ranks = (10, 20)


class EventScores(SequenceScores):
    """Recall@1, 5 and 20 and MRR@20 in percent, and nats of a prediction, over all predictions of a split.

    Recall@1 is the accuracy. Where there are 20 kinds of events or fewer, recall@20 is 100, and MRR@20 is the MRR.

    Args:
        ties: where events stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    recalls, reciprocal_ranks = (1, 5, 20), (20,)


class SequenceTask(ZooTask):
    """Trains and scores a model that predicts each thing of a sequence from those before it, all of them in one pass.

    Args:
        model_config, pretrained, model, optimizer_args: see `ZooTask`.
        ties: where things stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.

    Raises:
        ValueError: see `ZooTask`; another name of `ties`.
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
        **optimizer_args: Any,
    ) -> None:
        super().__init__(model_config, pretrained, model=model, **optimizer_args)

    def new_scores(self) -> SequenceScores:
        return self.scores_class(self.hparams["ties"])

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return f"{self.kind.several} of the batch in the training split: {rows}"

    @abstractmethod
    def predictions(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of all things (B, T, N) and the things that came (B, T), -100 where nothing is predicted.

        Args:
            inputs: of the model, and the `labels` of the batch.
        """

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return of each row of a batch its number `row`, how many `predictions` it has, and the `ranks` (B, T) of its
        targets, 0 where nothing is predicted.
        """
        logits, labels = self.predictions(model_inputs(batch))
        counts = labels != IGNORED
        ranks = torch.zeros_like(labels)
        ranks[counts] = target_ranks(logits[counts].float(), labels[counts], self.hparams["ties"])
        return {"row": batch["row"], "predictions": counts.sum(dim=1), "ranks": ranks}

    def update_scores(self, scores: SequenceScores, batch: dict[str, torch.Tensor], split: str) -> None:
        logits, labels = self.predictions(model_inputs(batch))
        counts = labels != IGNORED
        scores.update(logits[counts].float(), labels[counts])  # float: also under mixed precision

    def compute_scores(self, scores: SequenceScores) -> dict[str, float]:
        return scores.compute()


class SessionRecommendationTask(SequenceTask):
    """Trains and scores a model that predicts the next item of a session; arguments and errors as of `SequenceTask`.

    A batch holds what `session_inputs` gives. The objective is the sum over a session, the mean over the sessions of a
    batch: sessions of one batch are about as long, and a mean over predictions would weigh those of short sessions
    more. Behind each step of the optimizer the model puts parameters back into their range.
    """

    auto_class = AutoHead("session-recommendation")
    monitor = "validation/recall_at_20"
    kind, scores_class = SESSIONS, SessionScores

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.model.project_parameters()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch), every_position=True).loss
        return loss * (batch["labels"] != IGNORED).sum() / len(batch["labels"])

    def predictions(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        labels = inputs.pop("labels")
        return self.model(**inputs, every_position=True).logits, labels


class NextEventTask(SequenceTask):
    """Trains and scores a model that predicts the next event of a history; arguments and errors as of `SequenceTask`.

    A batch holds what `history_inputs` gives. The objective is the mean over the predictions of a batch.
    """

    auto_class = AutoHead("next-event")
    monitor = "validation/recall_at_1"
    kind, scores_class = HISTORIES, EventScores

    def predictions(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        labels = inputs.pop("labels")
        return self.model(**inputs).logits[:, :-1], labels[:, 1:]
