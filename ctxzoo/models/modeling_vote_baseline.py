"""Ideal point, AutoRec, CDAE, TrustSVD and CDL, models of votes to compare NIPEN with: one head.

docs/models/vote_baseline.md lists which function computes which equation, and the deviations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_vote_baseline import VoteBaselineConfig
from .layers_vote_baseline import AutoRec, Bills, Cdae, Cdl, IdealPoint, TrustSvd, WithNetwork
from .modeling_vote import VotePreTrainedModel
from .ops_inputs import to_float32_or_wider
from .ops_vote import (
    check_bills,
    check_votes,
    mask_new_bill_logits,
    refuse_new_bills,
    vote_log_likelihood,
    votes_to_signs,
)

SQUARED = ("autorec", "trust_svd", "cdl")  # kinds whose objective is a squared error, not a likelihood


@dataclass
class VoteBaselineOutput(ModelOutput):
    """The output of a baseline.

    Attributes:
        loss: Scalar loss over the observed votes, with the penalty, when labels are given.
        logits: (B, U) logits of a yea of each legislator, in float32 or wider.
        hidden_states, attentions: Always None; the model has none.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class VoteBaselineForVotePrediction(VotePreTrainedModel):
    """One of five models of votes, by `kind`, with the logit of a yea for each legislator and bill."""

    config: VoteBaselineConfig
    base_model_prefix = "baseline"
    _auto_class = (
        "VoteBaselineForVotePrediction"  # transformers has no Auto class for it; its code travels all the same
    )

    def __init__(self, config: VoteBaselineConfig) -> None:
        super().__init__(config)
        self.votes = _build_model(config)
        self.post_init()

    @property
    def reads_new_bills(self) -> bool:
        """Whether the model reads texts, and so predicts votes on new bills: CDL alone."""
        return self.config.kind == "cdl"

    def text_parameters(self) -> Iterable[torch.nn.Parameter]:
        """Return the weights of CDL's autoencoder of texts; other kinds have none."""
        return self.votes.autoencoder.parameters() if isinstance(self.votes, Cdl) else ()

    def set_observed_votes(self, votes: torch.Tensor) -> None:
        """Take the votes of training, from which TrustSVD counts and ideal points start."""
        super().set_observed_votes(votes)
        for module in self.votes.modules():
            if isinstance(module, TrustSvd):
                module.set_observed_votes(~votes.isnan())
            elif isinstance(module, IdealPoint):
                module.init_from_votes(votes)

    def forward(
        self,
        bag_of_words: torch.Tensor | None = None,
        bill_ids: torch.LongTensor | None = None,
        votes: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> VoteBaselineOutput | tuple[Any, ...]:
        """Predict how every legislator votes on each bill.

        Args:
            bag_of_words: (B, V) counts of the words of each bill, floats; every kind takes the number of bills from it,
                but only cdl reads the counts.
            bill_ids: (B,) ids of the bills, 0..D - 1; -1 for a new bill, which only cdl allows; default: all are new.
            votes: (B, U) known votes: 1 yea, 0 nay, NaN unknown; default: none. autorec, cdae and the network
                read them.
            labels: (B, U) votes to predict in the same code; NaN is ignored.
            output_attentions, output_hidden_states: Accepted as in other models, but without effect: there are none.

        Raises:
            ValueError: see `check_bills` and `check_votes`; a new bill, but for cdl (on a device, where values are not
                read, its logits are NaN).
        """
        config = self.config
        counts, ids = check_bills(bag_of_words, bill_ids, config.vocab_size, config.num_bills)
        if not self.reads_new_bills:
            refuse_new_bills(bill_ids, ids, f"{config.kind} knows the bills of its training alone; give bill_ids")
        known_votes = check_votes("votes", votes, ids.size(0), config.num_legislators)
        targets = check_votes("labels", labels, ids.size(0), config.num_legislators)
        # +1, -1, and 0 where unknown: (B, U).
        signs = (
            counts.new_zeros(ids.size(0), config.num_legislators)
            if known_votes is None
            else votes_to_signs(known_votes)
        )
        # The fraction of the bills is that of the penalties of shared parameters.
        bills = Bills(ids, signs.to(self.dtype), counts.log1p().to(self.dtype), ids.size(0) / config.num_bills)
        logits, penalty = self.votes(bills, config.text_weight) if config.kind == "cdl" else self.votes(bills)
        logits = to_float32_or_wider(logits)  # (B, U)
        if not self.reads_new_bills:
            logits = mask_new_bill_logits(logits, ids)
        loss = None
        if targets is not None:
            total = penalty + self._sum_errors(logits, targets)  # both are sums over the batch
            loss = total / (~targets.isnan()).sum().clamp(min=1)
        output = VoteBaselineOutput(loss=loss, logits=logits)
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _sum_errors(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of the observed votes, summed: negative log-likelihood, or half the squared errors."""
        if self.config.kind not in SQUARED:
            return -vote_log_likelihood(logits, labels).sum()
        seen = ~labels.isnan()
        # NaN times False would still be NaN.
        return 0.5 * ((logits.sigmoid() - torch.nan_to_num(labels)).square() * seen).sum()


def _build_model(config: VoteBaselineConfig) -> nn.Module:
    """Return the layer that scores votes, of the kind that `config.kind` names."""
    parts = (config.num_legislators, config.num_bills, config.factors)
    widths, rate, level = config.hidden_widths, config.dropout, config.corruption_level
    if config.with_network:
        return WithNetwork(parts, config.ridge, config.trust_ridge, rate)
    if config.kind == "ideal_point":
        return IdealPoint(parts, config.ridge, rate)
    if config.kind == "autorec":
        return AutoRec(config.num_legislators, widths, config.factors, rate, config.ridge)
    if config.kind == "cdae":
        return Cdae(parts, level, config.ridge)
    if config.kind == "trust_svd":
        return TrustSvd(parts, config.ridge, config.trust_ridge, rate)
    return Cdl(parts, config.vocab_size, widths, rate, level, config.ridge)
