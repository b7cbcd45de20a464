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


@dataclass
class ContextModelOutput(ModelOutput):
    """Output of a model that gathers a document into a context.

    Attributes:
        context: (B, m) context after the last step; with several starts, their mean.
        last_hidden_state: (B, n, m) tokens that the last step summed up, or, token-wise, that it gave; 0 at padding.
        features: (B, S, d) what a classifier reads of each of the S starts: c^K (d = m), or c^1 to c^K side by side.
        context_history: (B, K, m) contexts after every step, on request; with several starts, their means.
        hidden_states: tokens before the first step and, token-wise, after every step, (B, n, m) each, on request.
        attentions: on request, one (B, n, m) for each step: how much each feature of each token counts; with several
            starts, or token-wise over the contexts, their mean.
    """

    context: torch.Tensor | None = None
    last_hidden_state: torch.Tensor | None = None
    features: torch.Tensor | None = None
    context_history: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class ContextClassifierOutput(ModelOutput):
    """Output of a classifier of documents.

    Attributes:
        loss: scalar in nats, when labels are given.
        logits: (B, L); with several starts the logarithm of their mean probabilities.
        context_history, hidden_states, attentions: see `ContextModelOutput`.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    context_history: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class DocumentClassifierOutput(ModelOutput):
    """Output of a classifier of documents whose attention has several heads.

    Attributes:
        loss: scalar in nats, when labels are given; `auxiliary_loss` is part of it.
        logits: (B, L).
        auxiliary_loss: scalar that training adds to the loss of the classes, where the model has one.
        hidden_states: tokens as they enter and as they are summed up, (B, n, d) each, on request.
        attentions: on request; the model says which.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    auxiliary_loss: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class WordContextOutput(ModelOutput):
    """Output of a model of words and of the words around them.

    Attributes:
        last_hidden_state: (B, n, d) the vector of each word, W[w]; 0 at padding and special tokens.
        context_state: (B, n, d) what is around each place, c; (B, n, 2b d) where positions are kept apart; 0 at padding
            and where there is no word around.
        hidden_states: these two, on request.
        attentions: on request, one (B, n, 2b): the weight of each word around; 0 where there is none.
    """

    last_hidden_state: torch.Tensor | None = None
    context_state: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
