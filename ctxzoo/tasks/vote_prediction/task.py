"""Vote prediction for Lightning: how every legislator votes on a bill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchmetrics import MeanAbsoluteError, MeanMetric, MeanSquaredError
from torchmetrics.classification import BinaryAccuracy, BinaryCalibrationError
from transformers import PreTrainedModel

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.models.ops_vote import NEW_BILL, vote_log_likelihood
from ctxzoo.tasks.vote_prediction.data import NO_WORDS, Cells, VoteDataModule, get_model_names
from ctxzoo.tasks.vote_prediction.reader import read_votes
from ctxzoo.training.scoring import load_task, score_splits
from ctxzoo.training.task import AutoHead, Scores, ZooTask, select_model_inputs


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
        """Add logits of a yea and votes 1, 0 or NaN (none), of the same shape."""
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
        """Return the scores over all that was added, by name."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: 100 * value if name == "accuracy" else value for name, value in values.items()}


class VotePredictionTask(ZooTask):
    """Trains and scores a model that predicts votes.

    A batch holds what `VoteDataModule` gives. What the trust network reads are votes of the training, in every split.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.
        text_learning_rate: Peak learning rate of the layers that read texts; None: that of all other weights, which
            often need a higher one.

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

    def build_scores(self) -> VoteScores:
        """Return empty scores of votes."""
        return VoteScores()

    def get_parameter_groups(self) -> Iterable[Any]:
        """Return the parameters for the optimizer, those that read texts with a learning rate of their own."""
        texts = list(self.model.text_parameters())
        if self.hparams["text_learning_rate"] is None or not texts:
            return list(self.parameters())
        of_texts = set(map(id, texts))
        others = [parameter for parameter in self.parameters() if id(parameter) not in of_texts]
        return [{"params": others}, {"params": texts, "lr": self.hparams["text_learning_rate"]}]

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the model's loss on a batch of bills."""
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        return f"bills of the batch, by their places in the data: {rows}"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the numbers of the bills of a batch (B,) and the logits of each legislator's yea (B, U)."""
        return {"row": batch["row"], "logits": self._compute_logits(batch)}

    def update_scores(self, scores: VoteScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the votes of a batch of bills to the scores."""
        scores.update(self._compute_logits(batch), batch["labels"])

    def compute_scores(self, scores: VoteScores) -> dict[str, float]:
        """Return the scores by name."""
        return scores.compute()

    def _compute_logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of a yea (B, legislators) of a batch of B bills."""
        inputs = {name: value for name, value in select_model_inputs(batch).items() if name != "labels"}
        logits: torch.Tensor = self.model(**inputs).logits
        return logits


NO_VOTES = "none"  # in place of known votes


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    configuration: str | None = None,
    legislator_column: str = "legislator",
    bill_column: str = "bill",
    vote_column: str = "vote",
    text_column: ColumnNames = "text",
    party_column: str = "party",
    texts: str | None = None,
    known: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Return the scores of a model of votes on a split by name; for a checkpoint those that its training reported.

    Legislators and bills are told by their names; votes of legislators that the model does not know are left out. What
    a model reads of the other votes on a bill are `known` votes, and none of the scored ones. How many there are is
    noted, see `ctxzoo.data.reading_notes`, as is what did not match.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated votes).
        split: Name of the split, such as "test".
        tokenizer: None; accepted for uniformity, since texts are read as bags of words.
        data_dir, configuration, legislator_column, bill_column, vote_column, text_column, party_column, texts:
            Arguments of `VoteDataModule`.
        known: Known votes that the model may read: a file, folder or Hub id, whose split "train" counts, or "none";
            default: the split "train" of `dataset` if another split is scored.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        `accuracy` in percent, `log_likelihood`, `rmse`, `mae` and `calibration_error`; see `VoteScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: No such split; a checkpoint of another problem; bills that the model cannot read, by their names or
            for want of any text; known votes that fit none of the bills and legislators, or are all scored.
    """
    task = load_task(VotePredictionTask, checkpoint)
    config = task.model.config
    data = VoteDataModule(
        dataset,
        data_dir=data_dir,
        configuration=configuration,
        legislator_column=legislator_column,
        bill_column=bill_column,
        vote_column=vote_column,
        text_column=text_column,
        party_column=party_column,
        texts=texts,
        **get_model_names(config),
        eval_batch_size=batch_size,
        divide=False,
    )
    data.setup()
    _note_unknown_bills(task.model, data, split)
    data.observed = _read_known_votes(data, split, known)
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def _note_unknown_bills(model: Any, data: VoteDataModule, split: str) -> None:
    """Record notes on scored bills that were not in training, or have no text for a model that reads texts.

    Raises:
        TextFormatError: A bill is new and the model reads none; no bill has a text and the model read texts.
    """
    location = f"{data.dataset}, split {split!r}"
    rows = np.flatnonzero(~np.isnan(data.vote_matrix(split)).all(axis=1))
    names, texts = data.load_checked_data().bills, data.load_checked_data().texts
    new_bills = [names[row] for row in rows if data.bill_ids[row] == NEW_BILL]
    if not model.reads_new_bills:
        if new_bills:
            raise TextFormatError(
                f"{location}: {len(new_bills):,} of {len(rows):,} bills, such as {new_bills[0]!r}, were not in the "
                f"training of this {type(model).__name__}, which reads no text of a new one"
            )
        return
    record_note(location, "bills new to the model, read by their texts", len(new_bills))
    silent = sum(not texts[row] for row in rows)
    if silent and silent == len(rows) and data.words != NO_WORDS:
        raise TextFormatError(
            f"{location}: no bill has a text, and what this {type(model).__name__} says of a bill follows from its "
            "text; name the column of texts (`text_column`), or a table of them (`texts`)"
        )
    record_note(location, "bills without a text", silent)


def _read_known_votes(data: VoteDataModule, split: str, known_source: str | None) -> Cells:
    """Return the votes (bills, legislators) that the model may read; none of them is scored.

    Raises:
        TextFormatError: None of `known_source` is of a bill and a legislator of the data, or all are scored.
    """
    scored = ~np.isnan(data.vote_matrix(split))
    cells = np.full(scored.shape, np.nan, np.float32)
    location = f"{data.dataset}, split 'train'" if known_source is None else known_source
    if known_source is None and split != "train":
        cells = data.observed.copy()
    elif known_source not in (None, NO_VOTES):
        votes = read_votes(known_source, data.data_dir, data.configuration, columns=data.columns)
        name = next(iter(votes.splits)) if len(votes.splits) == 1 else "train"
        cells = data.build_vote_matrix(votes, name)
        number, matched = len(votes.splits[name].votes), int((~np.isnan(cells)).sum())
        if not matched:
            raise TextFormatError(
                f"{known_source}: none of its {number:,} known votes, such as that of {votes.legislators[0]!r} on "
                f"{votes.bills[0]!r}, is of a bill of {data.dataset} by a legislator of the checkpoint"
            )
        if not (~np.isnan(cells) & ~scored).any():
            raise TextFormatError(
                f"{known_source}: every known vote is one that is scored; give others, or none: a model that reads "
                "a vote predicts nothing"
            )
        record_note(
            known_source, "known votes on no bill of the data, or of nobody whom the checkpoint knows", number - matched
        )
    both = scored & ~np.isnan(cells)
    record_note(location, "known votes among the scored ones, which the model does not read", int(both.sum()))
    cells[both] = np.nan
    read = ~np.isnan(cells)
    alone = scored[~read.any(axis=1)]
    record_note(location, "known votes on scored bills, which the model reads", int(read[scored.any(axis=1)].sum()))
    record_note(f"{data.dataset}, split {split!r}", "scored votes on bills of which no vote is known", int(alone.sum()))
    return cells
