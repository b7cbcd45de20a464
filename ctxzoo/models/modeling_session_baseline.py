"""GRU4REC, NARM and STAMP, models of sessions to compare others with: a base model and a head for the next item.

docs/models/session_baseline.md lists which function computes which equation, and the deviations.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from .configuration_session_baseline import SessionBaselineConfig
from .layers_session import BilinearScores, ItemTable, StepAttention, glorot_linear, select_rows
from .modeling_session import NextItemPreTrainedModel, SessionPreTrainedModel
from .ops_execution import dropout, is_exporting
from .ops_recurrent import run_gru_steps, run_recurrent_scan
from .ops_session import left_align_session, make_step_visibility, restore_positions, select_last_steps


class SessionGru(nn.Module):
    """A GRU over item vectors, with the parameters of `nn.GRU`.

    Args:
        item_size: Width E of an item vector.
        hidden_size: Number H of units of the state.
    """

    def __init__(self, item_size: int, hidden_size: int) -> None:
        super().__init__()
        self.gru: nn.Module = nn.GRU(item_size, hidden_size, batch_first=True)

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Return the states (B, T, H) of item vectors (B, T, E)."""
        if not isinstance(self.gru, nn.GRU):  # quantised by torch, which keeps its weights to itself
            quantised: torch.Tensor = self.gru(items)[0]
            return quantised
        weights: list[torch.Tensor] = list(self.gru.parameters())  # of inputs, of states, and their biases
        if is_exporting():
            return run_recurrent_scan(items, weights, "gru")  # torch.gru would fix the length
        if items.is_cuda or torch.compiler.is_compiling():
            states: torch.Tensor = self.gru(items)[0]
            return states
        # On the CPU one operation for all steps is faster in training than torch.gru; given is (1, T, B, 3H).
        given = nn.functional.linear(items, weights[0], weights[2]).transpose(0, 1).unsqueeze(0)
        return run_gru_steps(given, weights[1].unsqueeze(0), weights[3].unsqueeze(0))[0].transpose(0, 1)  # (B, T, H)


class RecurrentReader(nn.Module):
    """GRU4REC: the last state h_T; or NARM: [the states weighed by `StepAttention`; h_T].

    Args:
        item_size, hidden_size: Width E of an item vector and number H of units.
        weighs: Whether the states are weighted by attention, as in NARM.
    """

    def __init__(self, item_size: int, hidden_size: int, weighs: bool) -> None:
        super().__init__()
        self.rnn = SessionGru(item_size, hidden_size)
        self.attention = StepAttention(hidden_size) if weighs else None
        self.pooled_size = hidden_size * (2 if weighs else 1)

    def forward(
        self, items: torch.Tensor, mask: torch.Tensor, every_position: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """Return a GRU's vectors (B, P, ...) to predict from, weights (B, P, T) or None, and states (B, T, H)."""
        states = self.rnn(items) * mask.unsqueeze(2)  # (B, T, H)
        last = states if every_position else select_last_steps(states, mask)  # (B, P, H), P = T or 1
        if self.attention is None:
            return last, None, states
        summed, weights = self.attention(states.unsqueeze(1), last, make_step_visibility(mask, every_position))
        return torch.cat([summed, last], dim=2), weights, states  # (B, P, 2H)


class StampReader(nn.Module):
    """STAMP: a_i = w_0 . sigmoid(W_1 x_i + W_2 x_T + W_3 m_s + b_a), not normalised; m_a = sum_i a_i x_i.

    Returned is tanh(W_s m_a + b_s) * tanh(W_t x_T + b_t), whose products with item vectors are the scores.

    Args:
        item_size: Width E of an item vector.
    """

    def __init__(self, item_size: int) -> None:
        super().__init__()
        self.item = glorot_linear(item_size, item_size, bias=False)  # W_1
        self.last = glorot_linear(item_size, item_size, bias=False)  # W_2
        self.mean = glorot_linear(item_size, item_size)  # W_3 and b_a
        self.score = glorot_linear(item_size, 1, bias=False)  # w_0
        self.of_session = glorot_linear(item_size, item_size)  # W_s and b_s
        self.of_last = glorot_linear(item_size, item_size)  # W_t and b_t
        self.pooled_size = item_size

    def forward(
        self, items: torch.Tensor, mask: torch.Tensor, every_position: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return vectors (B, P, E) to predict from, STAMP's attention weights (B, P, T), and item vectors (B, T, E)."""
        items = items * mask.unsqueeze(2)
        visible = make_step_visibility(mask, every_position)
        last = items if every_position else select_last_steps(items, mask)
        visible_weights = visible.to(items.dtype)  # (B, P, T)
        mean = (visible_weights @ items) / visible_weights.sum(dim=2, keepdim=True).clamp(min=1)  # m_s (B, P, E)
        prediction_terms = (self.last(last) + self.mean(mean)).unsqueeze(2)  # (B, P, 1, E)
        # No softmax, so that a product alone leaves out the steps that are not seen; (B, P, T).
        weights = (
            self.score(torch.sigmoid(self.item(items).unsqueeze(1) + prediction_terms)).squeeze(3) * visible_weights
        )
        pooled = torch.tanh(self.of_session(weights @ items)) * torch.tanh(self.of_last(last))  # (B, P, E)
        return pooled, weights, items


@dataclass
class SessionBaselineModelOutput(ModelOutput):
    """The output of the base model.

    Attributes:
        last_hidden_state: (B, T, H) states, or (B, T, E) item vectors of STAMP; 0 at padding.
        pooler_output: (B, D) vector from which the next item is scored, with `every_position` (B, T, D).
        step_weights: (B, T) weight of each step, 0 at padding: NARM's sum to 1, STAMP's are any numbers; None for
            GRU4REC and with `every_position`.
        hidden_states: Input item vectors (B, T, E) and `last_hidden_state`, on request.
        attentions: Always None; the weights of STAMP are no distribution.
    """

    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    step_weights: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class SessionBaselinePreTrainedModel(SessionPreTrainedModel):
    """The base of these models."""

    config: SessionBaselineConfig
    base_model_prefix = "reader"


class SessionBaselineModel(SessionBaselinePreTrainedModel):
    """The part of GRU4REC, NARM or STAMP that reads a session."""

    def __init__(self, config: SessionBaselineConfig) -> None:
        super().__init__(config)
        self.items = ItemTable(config.num_items, config.embedding_size)
        self.steps: RecurrentReader | StampReader = (
            StampReader(config.embedding_size)
            if config.kind == "stamp"
            else RecurrentReader(config.embedding_size, config.hidden_size, weighs=config.kind == "narm")
        )
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        every_position: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> SessionBaselineModelOutput | tuple[Any, ...]:
        """Read a batch of sessions.

        Args:
            input_ids: (B, T) ids of items 1..num_items in order of time; 0 is padding, at any place.
            attention_mask: (B, T), 1 at items, 0 at padding; default: every id above 0 is an item.
            every_position: Whether to read each session up to each of its steps, as if it ended there.
            output_attentions: Accepted as in other models, but without effect: there are no attentions.

        Raises:
            ValueError: see `left_align_session`.
        """
        ids, mask, positions = left_align_session(input_ids, attention_mask, self.config.num_items)
        items = dropout(self.items(ids), self.config.embedding_dropout, training=self.training)
        pooled, weights, states = self.steps(items, mask, every_position)
        states = restore_positions(states, positions)
        once_per_session = not every_position
        output = SessionBaselineModelOutput(
            last_hidden_state=states,
            pooler_output=pooled.squeeze(1) if once_per_session else restore_positions(pooled, positions),
            step_weights=restore_positions(weights.squeeze(1), positions)
            if once_per_session and weights is not None
            else None,
            hidden_states=(
                (restore_positions(items, positions), states)
                if self.resolve_output_flag(output_hidden_states, "hidden_states")
                else None
            ),
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class SessionBaselineForNextItem(SessionBaselinePreTrainedModel, NextItemPreTrainedModel):
    """GRU4REC, NARM or STAMP with scores of all items for the one that comes next."""

    _auto_class = "SessionBaselineForNextItem"  # transformers has no Auto class for it; its code travels all the same

    def __init__(self, config: SessionBaselineConfig) -> None:
        super().__init__(config)
        self.reader = SessionBaselineModel(config)
        if config.kind == "narm":
            self.head = BilinearScores(config.embedding_size, self.reader.steps.pooled_size, config.pooled_dropout)
        elif config.kind == "gru4rec":
            self.output = glorot_linear(config.hidden_size, config.num_items + 1)
        self.post_init()

    def compute_logits(self, pooled: torch.Tensor, items: torch.Tensor | None = None) -> torch.Tensor:
        """Return the score of each item, or of some, by the formula of the chosen baseline."""
        table = select_rows(self.reader.items.weight, items)
        if self.config.kind == "narm":
            scores: torch.Tensor = self.head(pooled, table)
            return scores
        pooled = dropout(pooled, self.config.pooled_dropout, training=self.training)
        if self.config.kind == "gru4rec":
            if items is not None:
                return F.linear(pooled, self.output.weight[items], self.output.bias[items])
            logits: torch.Tensor = self.output(pooled)
            return logits
        products = pooled @ table.t()  # (..., num_items + 1)
        return torch.sigmoid(products) if self.config.sigmoid_scores else products
