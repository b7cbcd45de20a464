"""The common part of models of votes in the shared model suite: batches, labels and callers' mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ctxzoo.models.configuration_base import ZooConfig
from tests.support.mistakes import all_changed, changed, drop, put
from tests.support.model_cases import BadInput, Batch, ModelCase

USERS, BILLS, WORDS = 5, 9, 7
SIZES: dict[str, Any] = {"num_legislators": USERS, "num_bills": BILLS, "vocab_size": WORDS}


class VoteCase(ModelCase):
    """An architecture that predicts votes; a row of a batch is a bill."""

    loss_is_mean_over_rows = False  # a penalty is shared by all bills, and the votes of bills are not as many
    has_attentions = False
    has_hidden_states = False

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        rows = len(lengths)
        return {
            "bag_of_words": torch.randint(0, 3, (rows, WORDS), generator=generator).float(),
            "bill_ids": torch.randperm(BILLS, generator=generator)[:rows],  # one bill has one row
            "votes": self._votes(rows, generator),
        }

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        # All of them known: a check compares labels, and NaN equals nothing.
        return {"labels": torch.randint(0, 2, (len(batch["bill_ids"]), USERS), generator=generator).float()}

    def leave_the_start(self, model: torch.nn.Module) -> torch.nn.Module:
        """Biases of 0 are where relu has a corner, for a text or hidden layer of zeros."""
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.copy_(0.1 + 0.2 * torch.rand(parameter.shape, generator=generator))
        return model

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        return [
            BadInput("no_words", drop("bag_of_words"), "pass bag_of_words"),
            BadInput("fewer_words", changed("bag_of_words", lambda x: x[:, 1:]), r"shape \(batch, 7\)"),
            BadInput("integer_words", changed("bag_of_words", torch.Tensor.long), "bag_of_words must be floats"),
            BadInput("negative_count", put("bag_of_words", (0, 0), -1), "bag_of_words has a count below 0"),
            BadInput("empty_batch", all_changed(lambda x: x[:0]), "the batch holds no bill"),
            BadInput("unknown_bill", put("bill_ids", 0, 9), r"bill id 9 is none of the bills 0\.\.8"),
            BadInput("negative_bill", put("bill_ids", 0, -2), "bill id -2 is none of the bills"),
            BadInput("float_bills", changed("bill_ids", torch.Tensor.float), "bill_ids must be integers"),
            BadInput("fewer_bills", changed("bill_ids", lambda x: x[1:]), r"bill_ids must have the shape \(3,\)"),
            BadInput("signed_votes", put("votes", (0, 0), -1), "votes holds -1; expected 1 for yea, 0 for nay, NaN"),
            BadInput("fewer_votes", changed("votes", lambda x: x[:, 1:]), "votes must have the shape"),
            BadInput("integer_votes", changed("votes", lambda x: x.nan_to_num().long()), "votes must be floats"),
            BadInput("signed_labels", put("labels", (0, 0), -1), "labels holds -1"),
            BadInput("labels_of_fewer", changed("labels", lambda x: x[1:]), "labels must have the shape"),
        ]

    def _votes(self, rows: int, generator: torch.Generator) -> torch.Tensor:
        votes = torch.randint(0, 2, (rows, USERS), generator=generator).float()
        hidden = torch.rand((rows, USERS), generator=generator) < 0.2
        hidden[:, 0] = False  # a vote in each row
        return votes.masked_fill(hidden, torch.nan)
