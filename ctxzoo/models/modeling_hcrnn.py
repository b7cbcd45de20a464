"""HCRNN, a recurrent network with hierarchical contexts: its base model, and its head that scores the next item.

docs/models/hcrnn.md lists which function computes which equation, and the deviations.
"""

from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils import ModelOutput

from .configuration_hcrnn import HcrnnConfig
from .layers_hcrnn import EveryPrefix, GlobalContext, HcrnnCell, Readout, Topics, WholeSessions
from .layers_session import BilinearScores, ItemTable, select_rows
from .modeling_session import NextItemOutput, NextItemPreTrainedModel, SessionPreTrainedModel
from .ops_execution import disable_autocast, dropout
from .ops_hcrnn import CellWeights, index_prefix_steps, run_session_prefixes, run_whole_sessions, sum_distinct_items
from .ops_session import left_align_session, make_step_visibility, restore_positions, select_last_steps


@dataclass
class HcrnnModelOutput(ModelOutput):
    """The output of the base model.

    Attributes:
        last_hidden_state: (B, T, H) temporary context h of each step, 0 at padding; None with `every_position`.
        pooler_output: (B, 2H or 3H) vector from which the next item is scored, with `every_position` (B, T, 2H or 3H);
            0 where nothing is read.
        theta: (B, K) topics of each session, the global context; with `every_position` (B, T, K), those of each prefix;
            meaningless at padding, which is moved behind the items.
        kl: (B,) divergence of the topics from their prior in nats; with `every_position` (B, T), meaningless at
            padding.
        local_context: (B, T, E) local context c of each step, 0 at padding; None with `every_position`.
        drift_gate: (B, T, H) gate in which the interest drift acts, in version 2 the reset gate, 0 at padding; None in
            version 1 and with `every_position`.
        hidden_states: Item vectors (B, T, E) and temporary contexts, on request; None with `every_position`.
        attentions: Attention over the memory (B, T, K) of each step, 0 at padding, over the states (B, T), and with
            "bi" by local contexts (B, T), on request; None with `every_position`.
    """

    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    theta: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    local_context: torch.Tensor | None = None
    drift_gate: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class HcrnnNextItemOutput(NextItemOutput):
    """The output of the head that scores the next item.

    Attributes:
        loss, logits, hidden_states, attentions: Loss, scores, hidden states and attentions, as in `NextItemOutput`; the
            loss includes `kl_lambda` times `kl`.
        theta, kl, local_context, drift_gate: Topics, divergence, local context and drift gate, as in
            `HcrnnModelOutput`.
    """

    theta: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    local_context: torch.Tensor | None = None
    drift_gate: torch.Tensor | None = None


class HcrnnPreTrainedModel(SessionPreTrainedModel):
    """The base of HCRNN's models."""

    config: HcrnnConfig
    base_model_prefix = "hcrnn"

    def project_parameters(self) -> None:
        """Keep the drift's weights positive where the config says "clip"; training calls it after each step.

        `SessionRecommendationTask` does; for transformers' Trainer there is `ctxzoo.training.projection`.
        """
        self.base_model.cell.clip_drift()


class HcrnnModel(HcrnnPreTrainedModel):
    """The recurrent network: a session is read with its topics, and its states are weighed for a prediction."""

    def __init__(self, config: HcrnnConfig) -> None:
        super().__init__(config)
        self.items = ItemTable(config.num_items, config.embedding_size)
        self.topics = GlobalContext(config.embedding_size, config.num_topics, config.embedding_dropout)
        self.cell = HcrnnCell(
            config.embedding_size, config.hidden_size, config.num_topics, config.version, config.drift_constraint
        )
        self.readout = Readout(config.embedding_size, config.hidden_size, config.attention == "bi")
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        every_position: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> HcrnnModelOutput | tuple[Any, ...]:
        """Read a batch of sessions.

        Args:
            input_ids: (B, T) ids of items 1..num_items in order of time; 0 is padding, at any place.
            attention_mask: (B, T), 1 at items, 0 at padding; default: every id above 0 is an item.
            every_position: Whether to read each session up to each of its steps, as if it ended there; the topics of a
                prefix are those of its own items, so time grows with the square of the length.

        Raises:
            ValueError: see `left_align_session`.
        """
        ids, mask, positions = left_align_session(input_ids, attention_mask, self.config.num_items)
        vectors = self.items(ids)  # (B, T, E)
        topics = self.topics(sum_distinct_items(vectors, ids, mask, every_position))  # theta (B, P, K), P = 1 or T
        # Topics are made of vectors without this dropout; they have one of their own.
        items = dropout(vectors, self.config.embedding_dropout, training=self.training)
        if every_position:
            output = self._read_prefixes(items, topics, mask, positions)
        else:
            output, attentions = self._read_sessions(items, topics, mask, positions)
            # Items were moved to the left over padding; what is returned stands where they stood.
            if self.resolve_output_flag(output_hidden_states, "hidden_states"):
                assert output.last_hidden_state is not None
                output.hidden_states = (restore_positions(items, positions), output.last_hidden_state)
            if self.resolve_output_flag(output_attentions, "attentions"):
                output.attentions = tuple(restore_positions(each, positions) for each in attentions)
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _read_sessions(
        self, items: torch.Tensor, topics: Topics, mask: torch.Tensor, positions: torch.Tensor
    ) -> tuple[HcrnnModelOutput, tuple[torch.Tensor, ...]]:
        """Read item vectors (B, T, E) once; return the representation of each session, and the attention weights."""
        theta = topics.theta.squeeze(1)  # (B, K)
        with disable_autocast(items.device):  # rounding of half precision would go from step to step
            weights = self.cell.collect_weights()
            steps = run_whole_sessions(_move_time_first(items, weights), theta.to(weights.memory.dtype), weights)
        # From (T, B, ...) to (B, T, ...), 0 at padding, over which the recurrence has run on.
        hidden, context, drift, memory = (
            each.transpose(0, 1).to(items.dtype) * mask.unsqueeze(2).to(items.dtype) for each in steps
        )
        ends = (select_last_steps(each, mask) for each in (hidden, context))  # (B, 1, H) and (B, 1, E)
        pooled, attention = self.readout(hidden, context, *ends, WholeSessions(mask))  # (B, 1, 2H or 3H)
        output = HcrnnModelOutput(
            last_hidden_state=restore_positions(hidden, positions),
            pooler_output=pooled.squeeze(1),
            theta=theta,
            kl=topics.divergence.squeeze(1),
            local_context=restore_positions(context, positions),
            drift_gate=None if self.config.version == 1 else restore_positions(drift, positions),
        )
        return output, (memory, *attention)

    def _read_prefixes(
        self, items: torch.Tensor, topics: Topics, mask: torch.Tensor, positions: torch.Tensor
    ) -> HcrnnModelOutput:
        """Read item vectors (B, T, E) once for every prefix; return the representation of each."""
        with disable_autocast(items.device):
            weights = self.cell.collect_weights()
            theta = topics.theta.transpose(0, 1).to(weights.memory.dtype)  # (T, B, K)
            steps = run_session_prefixes(_move_time_first(items, weights), theta, weights)
        seen = make_step_visibility(mask, every_position=True)  # (B, T, T)
        prefixes = EveryPrefix(seen, *index_prefix_steps(mask.size(1), mask.device))
        pooled, _ = self.readout(*(each.to(items.dtype) for each in steps), prefixes)  # (T, B, 2H or 3H)
        return HcrnnModelOutput(
            pooler_output=restore_positions(pooled.transpose(0, 1) * mask.unsqueeze(2), positions),
            theta=restore_positions(topics.theta, positions),
            kl=restore_positions(topics.divergence, positions),
        )


def _move_time_first(items: torch.Tensor, weights: CellWeights) -> torch.Tensor:
    """Return item vectors (B, T, E) as (T, B, E) in the type of the weights, as the recurrence takes them."""
    return items.transpose(0, 1).to(weights.memory.dtype)


class HcrnnForNextItem(HcrnnPreTrainedModel, NextItemPreTrainedModel):
    """HCRNN with scores of all items for the one that comes next, by their vectors: `BilinearScores`."""

    output_class = HcrnnNextItemOutput
    _auto_class = "HcrnnForNextItem"  # transformers has no Auto class for it; its code travels all the same

    def __init__(self, config: HcrnnConfig) -> None:
        super().__init__(config)
        self.hcrnn = HcrnnModel(config)
        channels = 3 if config.attention == "bi" else 2  # of H numbers each, the last state among them
        self.head = BilinearScores(config.embedding_size, channels * config.hidden_size, config.pooled_dropout)
        self.post_init()

    def compute_logits(self, pooled: torch.Tensor, items: torch.Tensor | None = None) -> torch.Tensor:
        """Return the score of each item, or of some, with the table of items as the last layer."""
        scores: torch.Tensor = self.head(pooled, select_rows(self.hcrnn.items.weight, items))
        return scores

    def compute_divergence(self, outputs: Any) -> torch.Tensor | None:
        """Return the divergence of topics from their prior, times `kl_lambda`."""
        divergence: torch.Tensor = self.config.kl_lambda * outputs.kl  # (B,) or (B, T)
        return divergence

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return topics and contexts: `theta`, `kl`, `local_context` and `drift_gate`."""
        return {name: outputs[name] for name in ("theta", "kl", "local_context", "drift_gate") if name in outputs}
