"""NIPEN, the neural ideal point estimation network: how legislators vote on bills, from texts and from each other.

Symbols: U legislators, D bills of the training, B bills of a batch, V words, K topics. docs/models/nipen.md lists which
function computes which equation, and the deviations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils import ModelOutput

from .configuration_nipen import NipenConfig
from .layers_linear import get_linear_weight
from .layers_nipen import (
    ReadTexts,
    TensorAgreement,
    VariationalAutoencoder,
    log_likelihood_of_authors_code,
    normal_kl_divergence,
)
from .layers_vote import DenoisingAutoencoder, Table, TrustNetwork, he_linear, mask_randomly
from .modeling_vote import VotePreTrainedModel
from .ops_inputs import to_float32_or_wider
from .ops_vote import (
    NEW_BILL,
    check_bills,
    check_votes,
    mask_new_bill_logits,
    refuse_new_bills,
    sum_of_squares,
    vote_log_likelihood,
    votes_to_signs,
)

LOSS_TERMS = ("weights", "text", "topics", "votes", "points")  # cost1 to cost5
LARGEST_START = 0.1  # deviation of parameters at the start
KNOWS_ITS_OWN = (
    "a model without amortized_bills knows the bills of its training alone; give bill_ids, or train one with "
    "amortized_bills=True"
)


@dataclass
class NipenOutput(ModelOutput):
    """The output of NIPEN.

    Attributes:
        loss: Scalar loss, when labels are given.
        logits: (B, U) logits of a yea of each legislator, in float32 or wider.
        loss_terms: (5,) terms that sum to the loss, named in `LOSS_TERMS`, when labels are given.
        topic_weights: (B, K) weights y of the topics of each bill.
        text_topics: (B, K) topics z that the encoder reads in each text.
        bill_points: (B, K) points a of the bills.
        content: (B, U) content term of the logits, before it is scaled.
        network: (B, U) trust term of the logits, before it is scaled; None without trust network.
        hidden_states, attentions: Always None; the model has none.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    loss_terms: torch.Tensor | None = None
    topic_weights: torch.Tensor | None = None
    text_topics: torch.Tensor | None = None
    bill_points: torch.Tensor | None = None
    content: torch.Tensor | None = None
    network: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class NipenForVotePrediction(VotePreTrainedModel):
    """NIPEN: the logit of a yea is agreement by topic plus what the others vote, each with a scale of its own."""

    config: NipenConfig
    base_model_prefix = "nipen"
    _auto_class = "NipenForVotePrediction"  # transformers has no Auto class for it; its code travels all the same

    def __init__(self, config: NipenConfig) -> None:
        super().__init__(config)
        topics, users, bills = config.num_topics, config.num_legislators, config.num_bills
        encoder = DenoisingAutoencoder if config.encoder == "sdae" else VariationalAutoencoder
        self.encoder = encoder(config.vocab_size, config.encoder_widths, topics, config.dropout)
        self.legislators = Table(users, topics, deviation=_compute_initial_deviation(config.ideal_lambda))  # x
        amortized = config.amortized_bills
        if amortized:
            self.text_points = he_linear(config.encoder_widths[-1], topics)  # W_a, b_a
            self.text_bias = he_linear(config.encoder_widths[-1], 1)  # w_b, b_b
        else:
            self.topics = Table(bills, topics, deviation=_compute_initial_deviation(config.topic_lambda))  # y
        # a, or delta_a
        self.bills = Table(
            bills,
            topics,
            deviation=_compute_initial_deviation(config.delta_lambda if amortized else config.ideal_lambda),
        )
        self.bias = Table(bills)  # b, or delta_b
        if config.version == "tensor":
            self.tensor = TensorAgreement(topics, config.ntn_widths, config.dropout)
        self.trust = None
        if config.network_structure == "user_alpha":
            self.trust = TrustNetwork(users, config.trust_rank, _compute_initial_deviation(config.trust_lambda))
            self.content_scale = Table(users, value=1.0)  # alpha_c
            self.network_scale = Table(users, value=1.0)  # alpha_n
        self.post_init()

    @property
    def reads_new_bills(self) -> bool:
        """Whether bills are made of their texts alone, so that new ones can be voted on."""
        return bool(self.config.amortized_bills)

    def text_parameters(self) -> Iterable[torch.nn.Parameter]:
        """Return the weights of the autoencoder of texts."""
        return self.encoder.parameters()

    def forward(
        self,
        bag_of_words: torch.Tensor | None = None,
        bill_ids: torch.LongTensor | None = None,
        votes: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> NipenOutput | tuple[Any, ...]:
        """Predict how every legislator votes on each bill.

        Args:
            bag_of_words: (B, V) counts of the words of each bill, floats.
            bill_ids: (B,) ids of the bills, 0..D - 1; -1 for a new bill, which only amortised bills allow; default: all
                are new. A bill may occur twice in a batch.
            votes: (B, U) known votes, read by the trust network: 1 yea, 0 nay, NaN unknown; default: none.
            labels: (B, U) votes to predict in the same code; NaN is ignored. A vote is never used to predict itself, so
                labels may occur in `votes` too.
            output_attentions, output_hidden_states: Accepted as in other models, but without effect: there are none.

        Returns:
            A `NipenOutput`, or a tuple of its fields.

        Raises:
            ValueError: see `check_bills` and `check_votes`; a new bill without amortised bills (on a device, where
                values are not read, its logits are NaN).
        """
        config = self.config
        counts, ids = check_bills(bag_of_words, bill_ids, config.vocab_size, config.num_bills)
        if not self.reads_new_bills:
            refuse_new_bills(bill_ids, ids, KNOWS_ITS_OWN)
        known_votes = check_votes("votes", votes, ids.size(0), config.num_legislators)
        targets = check_votes("labels", labels, ids.size(0), config.num_legislators)
        if self.training and config.new_bill_rate:
            # Some bills of the training are read as new ones are: without their own deviation and without votes.
            is_new_bill = torch.rand(ids.size(0), device=ids.device) < config.new_bill_rate
            ids = ids.masked_fill(is_new_bill, NEW_BILL)
            known_votes = None if known_votes is None else known_votes.masked_fill(is_new_bill.unsqueeze(1), torch.nan)
        clean = counts.log1p().to(self.legislators.weight.dtype)  # (B, V)
        dirty = mask_randomly(clean, config.corruption_level, self.training)
        texts = self._encode_texts(dirty)
        topics, points, bias, deviations = self._represent_bills(texts, ids)  # y and a (B, K), b (B, 1)
        if config.version == "tensor":
            content = self.tensor(topics * points, self.legislators.weight)
        else:
            content = (topics * points) @ self.legislators.weight.t()  # (B, U)
        content = content + bias  # the same for all legislators
        network, logits = None, content
        if self.trust is not None:
            # A vote of 0 is unknown, so that the network adds nothing.
            network = self.trust(
                content.new_zeros(content.shape) if known_votes is None else votes_to_signs(known_votes)
            )
            logits = self.content_scale.weight * content + self.network_scale.weight * network  # scales (U,)
        logits = to_float32_or_wider(logits)
        if not self.reads_new_bills:
            logits = mask_new_bill_logits(logits, ids)
        terms = None
        if targets is not None:
            terms = self._compute_loss_terms(clean, dirty, texts, topics, deviations, bias, logits, targets)
        output = NipenOutput(
            loss=None if terms is None else terms.sum(),
            logits=logits,
            loss_terms=terms,
            topic_weights=topics,
            text_topics=texts.topics,
            bill_points=points,
            content=content,
            network=network,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _encode_texts(self, bags: torch.Tensor) -> ReadTexts:
        """Return what the autoencoder makes of bags of words (bills, vocab_size)."""
        read = self.encoder(bags)
        return read if isinstance(read, ReadTexts) else ReadTexts(*read)

    def _represent_bills(
        self, texts: ReadTexts, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
        """Return topics y (B, K), points a (B, K), bias (B, 1) of bills, and their parameters to penalise."""
        if not self.config.amortized_bills:
            points = self.bills.weight[ids]
            return self.topics.weight[ids], points, self.bias.weight[ids].unsqueeze(1), (points,)
        is_known = (ids >= 0).unsqueeze(1)  # (B, 1), False for new bills
        rows = ids.clamp(min=0)  # -1 reads row 0, which the products drop
        deviation = self.bills.weight[rows] * is_known
        points = self.text_points(texts.hidden) + deviation
        bias_deviation = self.bias.weight[rows].unsqueeze(1) * is_known  # (B, 1)
        return texts.topics, points, self.text_bias(texts.hidden) + bias_deviation, (deviation, bias_deviation)

    def _compute_loss_terms(
        self,
        clean: torch.Tensor,
        dirty: torch.Tensor,
        texts: ReadTexts,
        topics: torch.Tensor,
        deviations: tuple[torch.Tensor, ...],
        bias: torch.Tensor,
        logits: torch.Tensor,
        labels: torch.Tensor,
    ) -> torch.Tensor:
        """Return the terms of the loss, (5,), named by `LOSS_TERMS`: sums over the batch, or per observed vote."""
        config, sums = self.config, self.config.reduction == "authors_sum"
        rows = clean.size(0)
        shared = 1.0 if sums else rows / config.num_bills  # what all batches add to stands in each in part
        likelihood = vote_log_likelihood if config.loss_type == "bernoulli" else log_likelihood_of_authors_code
        if texts.mean is None or texts.log_deviation is None:
            weights = 0.5 * config.weight_lambda * sum_of_squares(self.encoder.parameters())
            text = (
                0.5
                * config.text_lambda
                * sum_of_squares([to_float32_or_wider(texts.reconstruction) - to_float32_or_wider(clean)])
            )
        else:
            weights = 0.25 * config.weight_lambda**2 * sum_of_squares(self.encoder.parameters())
            divergence = normal_kl_divergence(texts.mean, texts.log_deviation)
            text = (
                0.5
                * config.text_lambda
                * sum_of_squares([to_float32_or_wider(texts.reconstruction) - to_float32_or_wider(dirty)])
            )
            text = text + (divergence.mean() if sums else divergence.sum())  # of (B,)
        weights = weights + self._compute_network_penalty()
        tie = 0.5 * config.topic_lambda * sum_of_squares([topics - texts.topics])
        votes = -0.5 * config.vote_lambda * likelihood(logits, labels).sum()
        points = self._compute_point_penalty(deviations, bias, rows, shared, sums)
        terms = torch.stack([shared * weights, text, tie, votes, points])
        return terms if sums else terms / (~labels.isnan()).sum().clamp(min=1)  # by the observed votes

    def _compute_network_penalty(self) -> torch.Tensor | float:
        """Return the penalty of the network of "tensor", and of the layers from texts to points of bills."""
        config = self.config
        penalty: torch.Tensor | float = 0.0
        if config.version == "tensor":
            layers = (*self.tensor.hidden, self.tensor.output)  # weights alone: the authors leave the biases free
            penalty = 0.5 * config.tensor_lambda * sum_of_squares(get_linear_weight(layer) for layer in layers)
        if config.amortized_bills:
            parts = [*self.text_points.parameters(), *self.text_bias.parameters()]
            penalty = penalty + 0.5 * config.weight_lambda * sum_of_squares(parts)
        return penalty

    def _compute_point_penalty(
        self,
        deviations: tuple[torch.Tensor, ...],
        bias: torch.Tensor,
        rows: int,
        shared: float,
        sums: bool,
    ) -> torch.Tensor:
        """Return the penalty cost5: weighted squares of ideal points, trust, scales and bias."""
        config = self.config
        of_legislators = config.ideal_lambda * sum_of_squares([self.legislators.weight])
        if self.trust is not None:
            of_legislators = of_legislators + config.trust_lambda * self.trust.compute_penalty()
        total = shared * of_legislators
        # What bills of this batch have of their own counts whole; no other batch of an epoch has it.
        if config.amortized_bills:
            total = total + config.delta_lambda * sum_of_squares(deviations)
        else:
            total = total + config.ideal_lambda * sum_of_squares(deviations)
        tensor = config.version == "tensor"
        if self.trust is not None:
            scales = config.scale_lambda * sum_of_squares([self.content_scale.weight, self.network_scale.weight])
            # In the sums of the authors scales count once for each bill, in the tensor version once.
            total = total + scales * (rows if sums and not tensor else shared)
        if config.bias_lambda is not None or not tensor:  # the authors' tensor version leaves it out
            # The authors weigh b by the number of legislators.
            of_bias = config.num_legislators if config.bias_lambda is None else config.bias_lambda
            if not config.amortized_bills:
                total = total + of_bias * sum_of_squares([bias])
        return 0.5 * total


def _compute_initial_deviation(penalty: float) -> float:
    """Return the standard deviation from which parameters with a penalty of this weight start: min(1 / lambda, 0.1)."""
    return min(1 / penalty, LARGEST_START) if penalty else LARGEST_START
