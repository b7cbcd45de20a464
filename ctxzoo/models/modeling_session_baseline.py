"""GRU4REC, NARM and STAMP, models of sessions to compare others with: a base model and a head for the next item.

docs/models/session_baseline.md lists which function computes which equation, and the deviations.
"""

from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils import ModelOutput

from .configuration_session_baseline import SessionBaselineConfig
from .layers_session import BilinearScores, ItemTable, glorot_linear
from .layers_session_baseline import RecurrentReader, StampReader
from .modeling_session import NextItemPreTrainedModel, SessionPreTrainedModel
from .ops_execution import dropout
from .ops_session import put_back, read_session


@dataclass
class SessionBaselineModelOutput(ModelOutput):
    """The output of the base model.

    Attributes:
        last_hidden_state: (B, T, H) the states, or the item vectors of STAMP (B, T, E); 0 at padding.
        pooler_output: (B, D) what the scores of the next item are computed from, with every position (B, T, D).
        step_weights: (B, T) the weight of each step, 0 at padding: NARM's sum to 1, STAMP's are any numbers; None for
            GRU4REC and for every position.
        hidden_states: on request, the item vectors as they enter (B, T, E), and `last_hidden_state`.
        attentions: None; the weights of STAMP are no distribution.
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
            input_ids: (B, T) items 1..num_items, in the order of time; 0 is padding, wherever it stands.
            attention_mask: (B, T), 1 at items, 0 at padding; default: every id above 0 is an item.
            every_position: read each session up to each of its steps, as if it had ended there.
            output_attentions: accepted as in other models; there are none.

        Raises:
            ValueError: see `read_session`.
        """
        ids, mask, positions = read_session(input_ids, attention_mask, self.config.num_items)
        items = dropout(self.items(ids), self.config.embedding_dropout, training=self.training)
        pooled, weights, states = self.steps(items, mask, every_position)
        states = put_back(states, positions)
        whole = not every_position
        output = SessionBaselineModelOutput(
            last_hidden_state=states,
            pooler_output=pooled.squeeze(1) if whole else put_back(pooled, positions),
            step_weights=put_back(weights.squeeze(1), positions) if whole and weights is not None else None,
            hidden_states=(
                (put_back(items, positions), states) if self.wants(output_hidden_states, "hidden_states") else None
            ),
        )
        return output if self.wants_dict(return_dict) else output.to_tuple()


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

    def scores(self, pooled: torch.Tensor) -> torch.Tensor:
        table = self.reader.items.weight
        if self.config.kind == "narm":
            scores: torch.Tensor = self.head(pooled, table)
            return scores
        pooled = dropout(pooled, self.config.pooled_dropout, training=self.training)
        if self.config.kind == "gru4rec":
            of_items: torch.Tensor = self.output(pooled)
            return of_items
        products = pooled @ table.t()
        return torch.sigmoid(products) if self.config.sigmoid_scores else products
