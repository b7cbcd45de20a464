"""The toy: g_i = sigmoid(v . tanh(W x_i) * s), a text is the mean of its words x_i weighed by g_i.

s, fixed, goes from 1 to 2 over the hidden units of a gate.
"""

from typing import Any

import torch
from torch import nn
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPooling

from ctxzoo.models.layers_text_input import pad_empty_sequences
from ctxzoo.models.modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel
from tests.support.toy.configuration_toy import ToyConfig


class ToyGates(nn.Module):
    """The weight of each word in the mean over its text, from a gate of one hidden layer.

    Args:
        width: m, width of a word.
        hidden: G, units of the hidden layer.
    """

    scale: torch.Tensor

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, hidden)
        self.weight = nn.Parameter(torch.empty(hidden))
        self.register_buffer("scale", torch.empty(hidden), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        init.copy_(self.scale, torch.linspace(1, 2, len(self.scale)))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weights (B, n), 0 outside the mask, of words (B, n, m); of a text with words they sum to 1."""
        gates = torch.sigmoid((torch.tanh(self.linear(x)) * self.scale) @ self.weight) * mask
        return gates / gates.sum(dim=1, keepdim=True).clamp(min=torch.finfo(gates.dtype).tiny)


class ToyPreTrainedModel(TextPreTrainedModel):
    """The base of the toy's models."""

    config: ToyConfig
    base_model_prefix = "toy"


class ToyModel(ToyPreTrainedModel):
    """The toy without a head: one vector for each text, a mean of its words weighed by gates."""

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        self.embeddings = self.make_text_input(config.dropout)
        self.gates = ToyGates(config.hidden_size, config.gate_size)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling | tuple[torch.Tensor, ...]:
        """Read a batch of texts.

        Args:
            input_ids: (B, n) words.
            attention_mask: (B, n), 1 at words, 0 after them; default: all 1.
            inputs_embeds: Word vectors (B, n, v) in place of input_ids.

        Returns:
            `last_hidden_state` (B, n, m): the words, 0 at padding; `pooler_output` (B, m): the text; on request
            `hidden_states`: the words; and `attentions`: (B, n), the weight of each.

        Raises:
            ValueError: see `TextInput.forward`.
        """
        x, mask = pad_empty_sequences(*self.embeddings(input_ids, attention_mask, inputs_embeds))
        weights = self.gates(x, mask)
        output = BaseModelOutputWithPooling(
            last_hidden_state=x,
            pooler_output=(weights.unsqueeze(1) @ x).squeeze(1),
            hidden_states=(x,) if self.resolve_output_flag(output_hidden_states, "hidden_states") else None,
            attentions=(weights,) if self.resolve_output_flag(output_attentions, "attentions") else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class ToyForSequenceClassification(ToyPreTrainedModel, TextClassifierPreTrainedModel):
    """The toy as a classifier of texts: scores are linear in the vector of the text.

    Inputs, `attentions` and `hidden_states` are those of `ToyModel.forward`.
    """

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        self.toy = ToyModel(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        return logits
