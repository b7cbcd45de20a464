"""Next event for Lightning: which event comes next, behind every event of every history at once."""

from __future__ import annotations

import torch

from ctxzoo.metrics.next_item import Ties
from ctxzoo.training.next_item_scores import NextItemScores
from ctxzoo.training.next_item_task import NextItemTask
from ctxzoo.training.task import AutoHead

RECALLS, RECIPROCAL_RANKS = (1, 5, 20), (20,)


class EventScores(NextItemScores):
    """Recall@1, 5 and 20 and MRR@20 in percent, and nats of a prediction, over all predictions of a split.

    Recall@1 is the accuracy. Where there are 20 kinds of events or fewer, recall@20 is 100, and MRR@20 is the MRR.

    Args:
        ties: where events stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    def __init__(self, ties: Ties = "pessimistic") -> None:
        super().__init__(RECALLS, RECIPROCAL_RANKS, ties)


class NextEventTask(NextItemTask):
    """Trains and scores a model that predicts the next event of a history; arguments and errors as of `NextItemTask`.

    A batch holds what `history_inputs` gives. The objective is the mean over the predictions of a batch.
    """

    auto_class = AutoHead("next-event")
    monitor = "validation/recall_at_1"

    def new_scores(self) -> EventScores:
        return EventScores(self.hparams["ties"])

    def name_examples(self, rows: list[int]) -> str:
        return f"histories of the batch in the training split: {rows}"

    def logits_and_labels(
        self, inputs: dict[str, torch.Tensor], labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model(**inputs).logits[:, :-1], labels[:, 1:]
