"""The time encoder: dot-product attention over events at times, with a head for the next event.

docs/models/time_encoder.md lists which function computes which equation, and the deviations.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .configuration_time_encoder import TimeEncoderConfig
from .layers_encoder import Attention, DotAttention, small_init_linear
from .layers_time_encoder import IN_SCORES, TimePosition, TimeWeight, build_time_encoding
from .modeling_encoder import (
    EncoderHeadOutput,
    EncoderModel,
    EncoderModelOutput,
    EncoderNextStepPreTrainedModel,
    EncoderPreTrainedModel,
)
from .ops_execution import in_evaluation_mode
from .ops_inputs import look_up_rows, number_names
from .ops_time_encoder import check_timestamps
from .ops_words import IGNORED

TOP = 10  # events that are predicted where nobody says how many


class TimeEncoderPreTrainedModel(EncoderPreTrainedModel):
    """The base of the time encoders."""

    config: TimeEncoderConfig


class TimeEncoderModel(TimeEncoderPreTrainedModel, EncoderModel):
    """The time encoder without a head, over events at times."""

    @staticmethod
    def make_attention(config: Any, layer_index: int) -> Attention:
        """Return dot-product attention for one layer."""
        return DotAttention(config.attention_dropout)

    def make_time_encodings(self, config: TimeEncoderConfig) -> None:
        """Make the encoding of time, and the weight of its kernel in each layer."""
        self.time: TimePosition | None = None
        if config.reads_time:
            self.time = TimePosition(
                build_time_encoding(config),
                combine=config.time_combine,
                hidden_size=config.hidden_size,
                unit=float(config.time_unit),
                reference=config.time_reference,
                transform=config.time_transform,
                causal=config.causal,
            )
        has_time_weights = self.time is not None and config.time_combine in IN_SCORES
        self.time_weights = nn.ModuleList(
            TimeWeight(config.num_heads, config.time_combine)
            for _ in range(config.num_layers if has_time_weights else 0)
        )

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        timestamps: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        steps_to_keep: torch.Tensor | None = None,
        return_dict: bool | None = None,
    ) -> EncoderModelOutput | tuple[Any, ...]:
        """Read a batch of histories.

        Args:
            input_ids: (B, n) ids of events.
            attention_mask: (B, n) mask, 1 at events, 0 elsewhere; default: all 1.
            inputs_embeds: Vectors of events (B, n, v) in place of input_ids.
            timestamps: (B, n) times of the events, float64 or integers; only read where `position` is an encoding of
                time.
            output_attentions: Whether to return attention weights, similarities and importances.
            steps_to_keep: (K,) indices of the steps whose `last_hidden_state` is returned; default: all.

        Raises:
            ValueError: see `TextInput.forward`; no timestamps for an encoding of time, see also `TimePosition.forward`.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds)  # (B, n, v) and (B, n)
        x, kernel = self.add_positions(x, mask, None), None
        if self.time is not None:
            if timestamps is None:
                raise ValueError(f"position={self.config.position!r} reads timestamps (batch, steps): pass them")
            x, kernel = self.time(x, timestamps, mask)  # (B, n, m), and (B, n, n) or None
        return self.run_blocks(
            x,
            mask,
            kernel,
            state=None,
            use_cache=False,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            steps_to_keep=steps_to_keep,
            return_dict=return_dict,
        )

    def compute_score_bias(self, index: int, kernel: torch.Tensor) -> torch.Tensor:
        """Return the bias of a layer's scores from a kernel of times (B, n, n), see `TimeWeight`."""
        bias: torch.Tensor = self.time_weights[index](kernel)
        return bias

    def time_kernel(
        self, input_ids: torch.Tensor, timestamps: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the kernel K (B, n, n) of time position LSTE and factors K1, K2 (B, n, n, A), to inspect or plot.

        Unlike in a causal `forward`, each row's whole history counts.

        Args:
            input_ids, timestamps, attention_mask: Ids, timestamps and mask of events, as in `forward`.

        Raises:
            ValueError: another position; see also `TimePosition.compute_kernel_factors`.
        """
        if self.time is None:
            raise ValueError(f"position={self.config.position!r} has no kernel of times; expected 'lste'")
        x, mask = self.embeddings(input_ids, attention_mask, None)
        return self.time.compute_kernel_factors(x if self.projection is None else self.projection(x), timestamps, mask)


class TimeEncoderForNextEvent(TimeEncoderPreTrainedModel, EncoderNextStepPreTrainedModel):
    """The time encoder as a model of the next event of a history: scores of events from their own vectors."""

    _auto_class = "TimeEncoderForNextEvent"  # transformers has no Auto class for it; its code travels all the same
    encoder_class = TimeEncoderModel
    zoo_task = "next-event"

    def __init__(self, config: TimeEncoderConfig) -> None:
        super().__init__(config)
        self.to_events: nn.Linear | None = None
        if config.word_dim != config.hidden_size:
            self.to_events = small_init_linear(config.hidden_size, config.word_dim, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        timestamps: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        return_dict: bool | None = None,
    ) -> EncoderHeadOutput | tuple[Any, ...]:
        """Score the events at each step; inputs as in `TimeEncoderModel.forward`, the others as in `score_steps`."""
        return self.score_steps(
            input_ids,
            attention_mask,
            inputs_embeds,
            labels,
            logits_to_keep,
            return_dict,
            timestamps=timestamps,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, V) of the events: products of a step and the vector of each event.

        Id 0, padding, is no event: its score is the lowest number.
        """
        words = self.get_input_embeddings()
        assert isinstance(words, nn.Embedding)
        vectors = words.weight[1:]  # (V - 1, v)
        logits = (steps if self.to_events is None else self.to_events(steps)) @ vectors.T
        return F.pad(logits, (1, 0), value=torch.finfo(logits.dtype).min)  # (B, n, V): id 0 in front

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean cross-entropy in nats of the next position's event, and the number of such events.

        Raises:
            ValueError: labels of another shape or type, or that are no events (read on the CPU only).
        """
        checked = labels.shape == mask.shape and not (torch.compiler.is_compiling() or labels.is_cuda)
        if checked and bool((mask & (labels == 0)).any()):
            raise ValueError(
                f"label 0 is padding and none of the events 1..{self.config.vocab_size - 1}: give an attention_mask "
                f"that is 0 there, or the label {IGNORED}"
            )
        return super().compute_loss(logits, labels, mask)

    def encode_history(self, history: Sequence[str | int]) -> list[int]:
        """Return the `input_ids` of a history from the names that events had in training; 10 and "10" are one.

        Raises:
            ValueError: no events, or one that the model does not know.
        """
        return look_up_rows(history, number_names(self.config.get_row_names(), start=1), "event")

    def next_events(
        self, history: Sequence[str | int], timestamps: Sequence[float], k: int | None = None
    ) -> list[tuple[str, float]]:
        """Return the k events that are likeliest to come after a history, the likeliest first.

        The model is in evaluation mode while it reads the last `max_history` events, as many as predictions of its
        training saw at most.

        Args:
            history: Names of events in order of time, one or more; the number 10 is the event "10". Events of a
                configuration without names are called "1" to `vocab_size` - 1.
            timestamps: Time of each event in the unit of the training data, finite and not falling. Dates were seconds
                since 1970 in training; `ctxzoo.tasks.next_event.next_events` accepts dates as they are.
            k: Number of events to return; default: 10, or all where there are fewer.

        Returns:
            (name, probability) of each.

        Raises:
            ValueError: an empty history, an unknown event, other timestamps, or a k that cannot be.
        """
        ids, number = self.encode_history(history), self.config.vocab_size - 1
        if len(timestamps) != len(ids):
            raise ValueError(f"{len(timestamps)} timestamps of {len(ids)} events: expected as many")
        # (1, n) in float64: float32 has dates in seconds since 1970 only to 128 seconds.
        times = torch.tensor([[_convert_time_to_float(time) for time in timestamps]], dtype=torch.float64)
        times = check_timestamps(times, torch.ones_like(times, dtype=torch.bool), ordered=True)
        k = min(TOP, number) if k is None else k
        if not 1 <= k <= number:
            raise ValueError(f"k={k}: expected 1 to {number}, the events that there are")
        with in_evaluation_mode(self):
            inputs = {
                "input_ids": torch.tensor([ids[-self.config.max_history :]], device=self.device),
                "timestamps": times[:, -self.config.max_history :].to(self.device),
            }
            probabilities = self(**inputs, logits_to_keep=1, return_dict=True).logits[0, -1].float().softmax(dim=0)
        likeliest = probabilities[1:].topk(k)  # without padding: place 0 is event 1
        events = likeliest.indices.tolist()
        names = [self.config.get_row_name(event + 1) for event in events]
        return list(zip(names, likeliest.values.tolist(), strict=True))


def _convert_time_to_float(time: Any) -> float:
    """Return a time as a float; text and dates are refused.

    Raises:
        ValueError: text, a date or anything else that is no number.
    """
    try:
        if isinstance(time, (str, bytes, bool)):
            raise TypeError
        return float(time)
    except (TypeError, ValueError):
        raise ValueError(f"timestamps: {time!r} is no number; expected numbers, of dates seconds since 1970") from None
