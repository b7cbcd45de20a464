"""The Contextualizer: documents as contexts that second-order attention corrects step by step.

Maupomé and Meurs, "An Iterative Contextualization Algorithm with Second-Order Attention" (2021).
docs/models/contextualizer.md lists which function computes which equation, and the deviations.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_contextualizer import ContextualizerConfig
from .layers_contextualizer import Contextualizer, TokenwiseContextualizer
from .layers_initial_context import InitialContext
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel, copy_linear_weights
from .ops_execution import dropout


@dataclass
class ContextModelOutput(ModelOutput):
    """The output of a model that gathers a document into a context.

    Attributes:
        context: (B, m) context after the last step; with several starts, their mean.
        last_hidden_state: (B, n, m) tokens that the last step summed or, in the token-wise variant, computed; 0 at
            padding.
        features: (B, S, d) input of the classifier for each of the S starts: c^K (d = m), or c^1 to c^K concatenated.
        context_history: (B, K, m) contexts after every step, on request; with several starts, their means.
        hidden_states: Tokens before the first step and, token-wise, after every step, (B, n, m) each, on request.
        attentions: Weights (B, n, m) of each step, on request: the weight of each feature of each token; with several
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
    """The output of a classifier of documents.

    Attributes:
        loss: Scalar in nats, when labels are given.
        logits: (B, L); with several starts the logarithm of their mean probabilities.
        context_history, hidden_states, attentions: Contexts after every step, hidden states and attentions, as in
            `ContextModelOutput`.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    context_history: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class ContextualizerPreTrainedModel(TextPreTrainedModel):
    """The base of the Contextualizer models."""

    config: ContextualizerConfig
    base_model_prefix = "contextualizer"
    supports_gradient_checkpointing = True


class ContextualizerModel(ContextualizerPreTrainedModel):
    """The Contextualizer: contexts c^1, …, c^K (Algorithm 1), or contextualized words and their mean (Algorithm 2)."""

    def __init__(self, config: ContextualizerConfig) -> None:
        super().__init__(config)
        self.embeddings = self.make_text_input(config.dropout, config.word_dropout)
        shape = (config.hidden_size, config.rank, config.num_steps, config.recurrent)
        self.start: InitialContext | None = None
        self.steps: Contextualizer
        if config.variant == "tokenwise":
            self.steps = TokenwiseContextualizer(*shape, config.tokenwise_values)
        else:
            self.steps = Contextualizer(*shape)
            self.start = InitialContext(
                config.hidden_size, config.initial_context, config.eval_context, config.eval_context_samples
            )
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
    ) -> ContextModelOutput | tuple[torch.Tensor, ...]:
        """Read a batch of documents.

        Args:
            input_ids: (B, n) ids of words.
            attention_mask: (B, n) mask, 1 at words, 0 elsewhere; default: all 1. A document without words has the
                context 0.
            inputs_embeds: Word vectors (B, n, v) in place of input_ids, or (B, n, m) with positions.
            subword_ids: (B, n, s) sub-words of the words, where an encoder reads them: ids of its tokenizer plus 1, 0
                where a word has no more of them.

        Returns:
            `ContextModelOutput`, or a tuple of its fields.

        Raises:
            ValueError: see `TextInput.forward`.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds, subword_ids)  # (B, n, m) and (B, n)
        wants_weights = self.resolve_output_flag(output_attentions, "attentions")
        hidden_states = [x]
        if isinstance(self.steps, TokenwiseContextualizer):
            tokens, weights = self.steps(x, mask, wants_weights)  # K of (B, n, m) each, 0 at padding
            words = mask.sum(dim=1, keepdim=True).clamp(min=1)
            contexts = [y.sum(dim=1) / words for y in tokens]  # (B, m) each
            hidden_states += tokens
        else:
            assert self.start is not None
            contexts, weights = self.steps(x, mask, self.start(x), wants_weights)  # (B, m) or (B, S, m) each
        features = torch.cat(contexts, dim=-1) if self.config.concatenate_steps else contexts[-1]
        context, history = contexts[-1], torch.stack(contexts, dim=-2)  # history (B, K, m) or (B, S, K, m)
        if context.dim() == 3:  # several starts: their means for reading, each of them for the classifier
            context, history = context.mean(dim=1), history.mean(dim=1)
            weights = [a.mean(dim=1) for a in weights]
        else:
            features = features.unsqueeze(1)  # (B, 1, d)

        wants_states = self.resolve_output_flag(output_hidden_states, "hidden_states")
        output = ContextModelOutput(
            context=context,
            last_hidden_state=hidden_states[-1],
            features=features,
            context_history=history if wants_states else None,
            hidden_states=tuple(hidden_states) if wants_states else None,
            attentions=tuple(weights) if wants_weights else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class ContextualizerForSequenceClassification(ContextualizerPreTrainedModel, TextClassifierPreTrainedModel):
    """The Contextualizer as a classifier: scores of classes from the last context, W_o c^K + b_o.

    Inputs are those of `ContextualizerModel.forward`, the output is a `ContextClassifierOutput`.
    """

    output_class = ContextClassifierOutput

    def __init__(self, config: ContextualizerConfig) -> None:
        super().__init__(config)
        self.contextualizer = ContextualizerModel(config)
        width = config.hidden_size * (config.num_steps if config.concatenate_steps else 1)
        self.classifier = nn.Linear(width, config.num_labels)
        self.post_init()

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        """Return logits (B, L); with several first contexts, the logarithm of mean probabilities."""
        features = dropout(outputs.features, self.config.dropout, training=self.training)
        logits: torch.Tensor = self.classifier(features)  # (B, S, L)
        if logits.size(1) == 1:
            return logits.squeeze(1)
        wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        # log(1/S sum_s p_s): the mean of probabilities, not of scores; (B, L).
        return wide.log_softmax(dim=-1).logsumexp(dim=1) - math.log(logits.size(1))

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return the contexts of all steps, to stand beside the logits."""
        return {"context_history": outputs.context_history}

    @torch.no_grad()
    def init_from_linear_classifier(self, weights: torch.Tensor) -> None:
        """Start as a linear classifier: scores are `weights` times the mean over the words of their first F numbers.

        W starts at 0: all words then weigh the same, so that every context is their mean. Training departs from there.

        Args:
            weights: (L, F) weights of a linear classifier on F features, at most m.

        Raises:
            ValueError: another shape.
        """
        copy_linear_weights(self.classifier, weights)
        self.contextualizer.steps.feature_factors.zero_()

    def token_weights(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        subword_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the attention to each word in each step, (B, K, n): the mean over features; each row sums to 1."""
        outputs = self.contextualizer(
            input_ids, attention_mask=attention_mask, subword_ids=subword_ids, output_attentions=True, return_dict=True
        )
        return torch.stack([weights.mean(dim=-1) for weights in outputs.attentions], dim=1)
