"""Vote prediction for Lightning: how every legislator votes on a bill."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torchmetrics import MeanAbsoluteError, MeanMetric, MeanSquaredError
from torchmetrics.classification import BinaryAccuracy, BinaryCalibrationError

from ctxzoo.models.ops_vote import vote_log_likelihood
from ctxzoo.training.task import AutoHead, Scores, ZooTask, model_inputs


class VoteScores(Scores):
    """Scores of probabilities of a yea, over all votes of a split, each of which counts alike.

    `accuracy`: in percent, yea where the probability is above 1/2; `log_likelihood`: mean over votes in nats; `rmse`
    and `mae`: of the probability from 1 or 0; `calibration_error`: expected calibration error over 15 bins
    (torchmetrics).
    """

    def __init__(self) -> None:
        super().__init__()
        self.accuracy = BinaryAccuracy()
        # Other strategies leave votes with NaN out of the mean.
        self.log_likelihood = MeanMetric(nan_strategy="disable")
        self.rmse = MeanSquaredError(squared=False)
        self.mae = MeanAbsoluteError()
        self.calibration_error = BinaryCalibrationError(n_bins=15)

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add votes: logits of a yea, and 1, 0 or NaN, of one shape; NaN counts for nothing."""
        seen = ~labels.isnan()
        logits, labels = logits[seen].float(), labels[seen].float()
        if not len(labels):
            return
        self.log_likelihood.update(vote_log_likelihood(logits, labels))
        probabilities, votes = logits.sigmoid(), labels.long()
        for name in ("accuracy", "calibration_error"):
            getattr(self, name).update(probabilities, votes)
        for name in ("rmse", "mae"):
            getattr(self, name).update(probabilities, labels)

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: 100 * value if name == "accuracy" else value for name, value in values.items()}


class VotePredictionTask(ZooTask):
    """Trains and scores a model that predicts votes.

    A batch holds what `VoteDataModule` gives. What the trust network reads are votes of the training, in every split.

    Args:
        model_config, pretrained, model, optimizer_args: see `ZooTask`.
        text_learning_rate: of what reads texts, where that is to have another rate; points of single bills, which are
            in one batch of an epoch each, need higher ones.

    Raises:
        ValueError: see `ZooTask`.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    auto_class = AutoHead("vote-prediction")
    monitor = "validation/log_likelihood"

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        text_learning_rate: float | None = None,
        **optimizer_args: Any,
    ) -> None:
        super().__init__(model_config, pretrained, model=model, **optimizer_args)

    def new_scores(self) -> VoteScores:
        return VoteScores()

    def parameter_groups(self) -> Iterable[Any]:
        texts = list(self.model.text_parameters())
        if self.hparams["text_learning_rate"] is None or not texts:
            return list(self.parameters())
        of_texts = set(map(id, texts))
        others = [parameter for parameter in self.parameters() if id(parameter) not in of_texts]
        return [{"params": others}, {"params": texts, "lr": self.hparams["text_learning_rate"]}]

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return f"bills of the batch, by their places in the data: {rows}"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the places of the bills of a batch, (B,), and the logits of a yea of each legislator, (B, U)."""
        return {"row": batch["row"], "logits": self._logits(batch)}

    def update_scores(self, scores: VoteScores, batch: dict[str, torch.Tensor], split: str) -> None:
        scores.update(self._logits(batch), batch["labels"])

    def compute_scores(self, scores: VoteScores) -> dict[str, float]:
        return scores.compute()

    def _logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        inputs = {name: value for name, value in model_inputs(batch).items() if name != "labels"}
        logits: torch.Tensor = self.model(**inputs).logits
        return logits
