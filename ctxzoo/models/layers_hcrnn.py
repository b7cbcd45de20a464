"""Layers of HCRNN: the global context, the cell, and the two channels of attention over its states."""

import math
from typing import Literal, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_linear import get_linear_weight
from .layers_session import StepAttention, glorot_linear, softmax_weighted_sums
from .ops_execution import dropout
from .ops_hcrnn import CellWeights, normal_kl_divergence
from .ops_words import masked_softmax

LEAST_DEVIATION, LARGEST_DEVIATION = 1e-6, 10.0
LEAST_DRIFT = 1e-12  # what the authors clip D to


class Topics(NamedTuple):
    """The global context of what a prediction has read.

    Attributes:
        theta: (..., K) topic proportions, which sum to 1.
        divergence: (...) divergence of the topics' distribution from N(0, I), in nats.
    """

    theta: torch.Tensor
    divergence: torch.Tensor


class GlobalContext(nn.Module):
    """The neural topic model: q = elu(s W_1 + b_1), theta = softmax(q W_mu + b_mu + std * eps).

    std = 1e-6 + softplus(q W_s + b_s), at most 10; eps is drawn from N(0, I) in training and 0 in evaluation, where the
    divergence is still that with the std of the layer.

    Args:
        size: Width E of an item vector.
        num_topics: Number of topics K.
        rate: Dropout rate on the sum s of item vectors.
    """

    def __init__(self, size: int, num_topics: int, rate: float) -> None:
        super().__init__()
        self.query = glorot_linear(size, size)
        self.mean = glorot_linear(size, num_topics)
        self.deviation = glorot_linear(size, num_topics)
        self.rate = rate

    def forward(self, sums: torch.Tensor) -> Topics:
        """Return each session's mixture of topics, in training drawn, from s (..., E), its summed distinct items."""
        query = F.elu(self.query(dropout(sums, self.rate, training=self.training)))
        mean = self.mean(query)
        deviation = (LEAST_DEVIATION + F.softplus(self.deviation(query))).clamp(max=LARGEST_DEVIATION)
        drawn = mean + deviation * torch.randn_like(mean) if self.training else mean  # (..., K)
        return Topics(drawn.softmax(dim=-1), normal_kl_divergence(mean, deviation))


class HcrnnCell(nn.Module):
    """The weights of the recurrence (`ops_hcrnn`), named after what they are for.

    Args:
        item_size: Width E of an item vector.
        hidden_size: Number H of units of the state.
        num_topics: Number of topics K.
        version: Version of the cell, 1, 2 or 3, which sets the form of its reset gate.
        constraint: How the drift weights D are kept from being negative: "clip" after each optimizer step, see
            `clip_drift`; or "softplus" of the parameter.
    """

    def __init__(
        self,
        item_size: int,
        hidden_size: int,
        num_topics: int,
        version: Literal[1, 2, 3],
        constraint: Literal["clip", "softplus"],
    ) -> None:
        super().__init__()
        input_size = item_size + hidden_size
        self.item_size, self.version, self.constraint = item_size, version, constraint
        self.memory = nn.Parameter(torch.empty(num_topics, item_size))  # M
        self.topic_item = nn.Parameter(torch.empty(item_size, hidden_size))  # A
        self.topic_hidden = nn.Parameter(torch.empty(hidden_size, hidden_size))  # R
        self.topic_vector = nn.Parameter(torch.empty(hidden_size, 1))  # v
        self.write = nn.Parameter(torch.empty(input_size, item_size))  # W_g
        self.write_context = nn.Parameter(torch.empty(item_size, item_size))  # U_g
        self.write_bias = nn.Parameter(torch.empty(item_size))
        self.update = nn.Parameter(torch.empty(input_size, hidden_size))  # W_z
        self.update_context = nn.Parameter(torch.empty(item_size, hidden_size))  # U_z
        self.update_bias = nn.Parameter(torch.empty(hidden_size))
        self.reset = nn.Parameter(torch.empty(input_size, hidden_size))  # W_r
        self.reset_bias = nn.Parameter(torch.empty(hidden_size))
        self.candidate = nn.Parameter(torch.empty(input_size, hidden_size))  # W_h
        self.candidate_bias = nn.Parameter(torch.empty(hidden_size))
        if version == 1:
            self.reset_context = nn.Parameter(torch.empty(item_size, hidden_size))  # U_r
        else:
            self.drift = nn.Parameter(torch.empty(item_size, hidden_size))  # D, or what it is the softplus of
        if version == 3:
            self.drift_bias = nn.Parameter(torch.empty(hidden_size))  # b_d
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            if name == "drift":
                self._init_drift(parameter)
            elif parameter.dim() == 1:
                init.zeros_(parameter)
            else:
                init.xavier_uniform_(parameter)

    def _init_drift(self, drift: torch.Tensor) -> None:
        """Draw the drift matrix D from positive numbers in Glorot's range, or around their mean with softplus."""
        bound = math.sqrt(6 / sum(drift.shape))
        if self.constraint == "clip":
            init.uniform_(drift, 0.0, bound)
        else:
            # The inverse of softplus at bound / 2, the mean of the clipped start.
            centre = math.log(math.expm1(bound / 2))
            init.uniform_(drift, centre - 1, centre + 1)

    def drift_weight(self) -> torch.Tensor:
        """Return the drift matrix D (E, H) of versions 2 and 3 as the recurrence uses it, under its constraint."""
        return F.softplus(self.drift) if self.constraint == "softplus" else self.drift

    @torch.no_grad()
    def clip_drift(self) -> None:
        """Raise entries of the drift matrix to a least value after each optimizer step, if the constraint is "clip"."""
        if self.version != 1 and self.constraint == "clip":
            self.drift.clamp_(min=LEAST_DRIFT)

    def collect_weights(self) -> CellWeights:
        """Return all weights of the cell as the recurrence takes them, in float32 or wider."""
        wide = torch.promote_types(self.memory.dtype, torch.float32)
        size = self.item_size
        gates = (self.write, self.update, self.reset)
        return CellWeights(
            memory=self.memory.to(wide),
            projected=self.memory.to(wide) @ self.topic_item.to(wide),  # P = M A, (K, H)
            topic_vector=self.topic_vector.squeeze(1).to(wide),
            # Side by side in the order g, z, r, h~: one product makes what an item adds to all four.
            of_item=torch.cat([each[:size] for each in (*gates, self.candidate)], dim=1).to(wide),  # (E, E + 3H)
            bias=torch.cat([self.write_bias, self.update_bias, self.reset_bias, self.candidate_bias]).to(wide),
            of_hidden=torch.cat([*(each[size:] for each in gates), self.topic_hidden], dim=1).to(wide),  # (H, E + 3H)
            candidate=self.candidate[size:].to(wide),
            write=self.write_context.to(wide),
            update=self.update_context.to(wide),
            reset=(self.reset_context if self.version == 1 else self.drift_weight()).to(wide),
            drift_bias=self.drift_bias.to(wide) if self.version == 3 else None,
            version=self.version,
        )


class WholeSessions(NamedTuple):
    """One prediction for each of B sessions; its steps are (B, T, ...), its end is (B, 1, ...).

    Attributes:
        seen: (B, T) booleans, True at steps that the prediction sees.
    """

    seen: torch.Tensor

    def expand_to_steps(self, ends: torch.Tensor) -> torch.Tensor:
        """Repeat values of whole sessions for each of their steps."""
        return ends  # (B, 1, ...), broadcast over the T steps

    def attend(self, scores: torch.Tensor, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return sums (B, 1, H) of the states, weighed by a softmax of scores (B, T), and these weights (B, T)."""
        seen = self.seen.unsqueeze(1)  # (B, 1, T)
        summed, weights = softmax_weighted_sums(scores.unsqueeze(1), states.unsqueeze(1), seen)
        return summed, weights.squeeze(1)


class EveryPrefix(NamedTuple):
    """A prediction for each of P = T prefixes of B sessions; its steps are rows (N, B, ...), its ends (P, B, ...).

    Attributes:
        seen: (B, P, T) booleans, True at steps that each of the P predictions of a session sees.
        prefix, step: (N,) number of the prefix, and of the step in it, of each row, see `index_prefix_steps`.
    """

    seen: torch.Tensor
    prefix: torch.Tensor
    step: torch.Tensor

    def expand_to_steps(self, ends: torch.Tensor) -> torch.Tensor:
        """Repeat values of prefixes for each of their steps."""
        return ends.index_select(0, self.prefix)

    def attend(self, scores: torch.Tensor, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return sums (P, B, H) of each prefix's states by a softmax of scores (N, B), and the weights (B, P, T)."""
        batch, length = self.seen.shape[:2]
        # The N rows go to their places in a square of prefixes and steps, where each prefix has its softmax.
        place = self.prefix * length + self.step
        square = scores.new_zeros(length * length, batch).index_copy(0, place, scores)  # (P T, B)
        weights = masked_softmax(square.view(length, length, batch).permute(2, 0, 1), self.seen, dim=2) * self.seen
        row_weights = weights.permute(1, 2, 0).reshape(length * length, batch).index_select(0, place).to(states.dtype)
        sums = states.new_zeros(length, *states.shape[1:])  # (P, B, H)
        return sums.index_add(0, self.prefix, row_weights.unsqueeze(2) * states), weights


class Readout(nn.Module):
    """What is read from the states for a prediction: [attention over states; h_T], with a global channel in front.

    The global channel weighs the states by local contexts: beta_t = (G_1 c_t) . (G_2 c_T) / sqrt(E).

    Args:
        item_size: Width E of a local context.
        hidden_size: Number H of units of the state.
        with_global: Whether the attention by global contexts is used too ("bi").
    """

    def __init__(self, item_size: int, hidden_size: int, with_global: bool) -> None:
        super().__init__()
        self.local = StepAttention(hidden_size)
        self.context: nn.Linear | None = None
        if with_global:
            self.context = glorot_linear(item_size, hidden_size, bias=False)  # G_1
            self.last_context = glorot_linear(item_size, hidden_size, bias=False)  # G_2

    def forward(
        self,
        states: torch.Tensor,
        contexts: torch.Tensor,
        last: torch.Tensor,
        last_context: torch.Tensor,
        predictions: WholeSessions | EveryPrefix,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """Return the representations, 2H or 3H numbers a prediction, and the weights of the channels, local first.

        Args:
            states, contexts: Temporary contexts h and local contexts c of each step, in the shape that `predictions`
                describes.
            last, last_context: Temporary and local contexts of the steps after which predictions are made, in the same
                shape.
            predictions: Predictions to make, with the steps that each sees.
        """
        # W_d is applied to the ends, of which there are fewer than steps.
        scores = self.local.compute_scores(states, predictions.expand_to_steps(self.local.last(last)))
        local, weights = predictions.attend(scores, states)
        if self.context is None:
            return torch.cat([local, last], dim=-1), (weights,)
        # G_1 is applied to the end, where there are fewer numbers: (G_1 c) . q = c . (G_1^T q).
        query = self.last_context(last_context) @ get_linear_weight(self.context)  # (..., E)
        scores = (contexts * predictions.expand_to_steps(query)).sum(dim=-1) / math.sqrt(contexts.size(-1))
        context_sums, context_weights = predictions.attend(scores, states)
        return torch.cat([context_sums, local, last], dim=-1), (weights, context_weights)
