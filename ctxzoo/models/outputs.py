"""Every output dataclass of the zoo."""

from dataclasses import dataclass

import torch
from transformers.utils import ModelOutput


@dataclass
class ContextQuestionModelOutput(ModelOutput):
    """Output of a model that reads a context together with a question.

    Attributes:
        last_hidden_state: (B, C, d) context words after the modelling layer (M).
        attended_context: (B, C, e) context words after the attention flow (G).
        question_summary: (B, f) one vector for each question: the mean of its encoded words.
        hidden_states: encoded context (B, C, f), encoded question (B, Q, f), attended context, on request.
        attentions: on request, context to question S1 (B, C, Q), question to context S2 (B, C, Q), and the
            self-attention maps that the variant has.
    """

    last_hidden_state: torch.Tensor | None = None
    attended_context: torch.Tensor | None = None
    question_summary: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class ExtractiveQuestionAnsweringOutput(ModelOutput):
    """Output of an extractive reader. Position 0 of the context is the extra token that stands for "no answer".

    Attributes:
        loss: scalar in nats, when labels are given.
        start_logits, end_logits: (B, C); the lowest finite value at padding.
        no_answer_logits: (B,), for variants with a no-answer score of their own.
        hidden_states, attentions: see `ContextQuestionModelOutput`.
    """

    loss: torch.Tensor | None = None
    start_logits: torch.Tensor | None = None
    end_logits: torch.Tensor | None = None
    no_answer_logits: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
