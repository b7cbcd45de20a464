"""LAMA: documents through a bidirectional GRU and multi-head attention of low rank.

Mehta, Rangwala and Ramakrishnan, "Low Rank Factorization for Compact Multi-Head Self-Attention" (2019).
docs/models/lama.md lists which function computes which equation, and the deviations.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPooling

from .configuration_lama import LamaConfig
from .layers_lama import LowRankAttention
from .layers_linear import DEVIATION, normal_linear, text_classifier
from .layers_recurrent import MaskedBiRNN
from .layers_text_input import at_least_one_place
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel, start_weights
from .ops_execution import dropout
from .ops_inputs import refuse_gaps
from .ops_words import masked_max, masked_mean


class LearnedContext(nn.Module):
    """A trained vector c for all documents, which starts from N(0, 0.1^2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.vector, std=DEVIATION)


class LamaPreTrainedModel(TextPreTrainedModel):
    """The base of the LAMA models."""

    config: LamaConfig
    base_model_prefix = "lama"


class LamaModel(LamaPreTrainedModel):
    """LAMA: the vector of a document, m weighted sums of the states of its words, side by side."""

    def __init__(self, config: LamaConfig) -> None:
        super().__init__(config)
        width = config.state_size
        self.embeddings = self.text_input(config.embedding_dropout)
        self.rnn = MaskedBiRNN(config.hidden_size, config.recurrent_size, cell="gru")
        self.word_projection = normal_linear(width, width) if config.word_projection else None
        self.attention = LowRankAttention(
            width,
            config.num_heads,
            config.rank,
            l2_normalize=config.l2_normalize,
            logit_scale=config.logit_scale,
        )
        self.learned_context = LearnedContext(width) if config.context == "learned" else None
        # A map is needed only where the mean of the words has another width than the states.
        needs_map = config.context == "mean_embedding" and config.hidden_size != width
        self.context_map = nn.Linear(config.hidden_size, width, bias=False) if needs_map else None
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
        """Read a batch of documents.

        Args:
            input_ids: (B, n) words.
            attention_mask: (B, n), 1 at words, 0 after them; default: all 1. A document without any has the vector 0;
                where n is 0, one position of padding is read.
            inputs_embeds: in place of input_ids, (B, n, d) word vectors.

        Returns:
            `last_hidden_state` (B, n, D): the states H, 0 at padding; `pooler_output` (B, m D): S = A H, head after
            head (3.15), and behind it, with `append_pooled`, the mean and the maximum of H, and, with `linear_mean`,
            the mean of all tokens; on request `hidden_states`: tokens and states; and `attentions`: A, one (B, m, n).
            States and weights are of words alone, 0 at n-grams.

        Raises:
            ValueError: see `TextInput.forward`; a mask with a word after padding; inputs_embeds where the config has
                n-grams, which are recognised by their ids.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds)
        x, mask = at_least_one_place(x, mask)
        refuse_gaps(mask)
        every, every_mask = x, mask
        if self.config.ngram_buckets:
            x, mask = self._words_alone(x, mask, input_ids)
        states = dropout(self.rnn(x, mask), self.config.hidden_dropout, training=self.training)
        words = states if self.word_projection is None else torch.tanh(self.word_projection(states))  # (3.7)
        weights = self.attention(words, self._context(x, states, mask), mask)
        summed = weights.to(states.dtype) @ states  # (B, m, D)
        document = summed.flatten(1)
        if self.config.append_pooled:
            document = torch.cat([document, masked_mean(states, mask)[0], masked_max(states, mask)[0]], dim=1)
        if self.config.linear_mean:
            document = torch.cat([document, masked_mean(every, every_mask)[0]], dim=1)
        behind = every.size(1) - x.size(1)  # positions of n-grams alone
        states, weights = F.pad(states, (0, 0, 0, behind)), F.pad(weights, (0, behind))
        output = BaseModelOutputWithPooling(
            last_hidden_state=states,
            pooler_output=document,
            hidden_states=(every, states) if self.wants(output_hidden_states, "hidden_states") else None,
            attentions=(weights,) if self.wants(output_attentions, "attentions") else None,
        )
        return output if self.wants_dict(return_dict) else output.to_tuple()

    def _words_alone(
        self, x: torch.Tensor, mask: torch.Tensor, input_ids: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens and mask without the n-grams, which stand behind the words of each document."""
        if input_ids is None:
            raise ValueError(
                f"inputs_embeds with ngram_buckets={self.config.ngram_buckets}: n-grams are told from words by their "
                "ids; give input_ids"
            )
        is_word = input_ids < self.config.vocab_size - self.config.ngram_buckets
        words = mask & F.pad(is_word, (0, mask.size(1) - is_word.size(1)))
        refuse_gaps(words)
        if torch.compiler.is_compiling():
            return x * words.unsqueeze(-1), words
        longest = max(1, int(words.sum(dim=1).max()))
        return x[:, :longest] * words[:, :longest].unsqueeze(-1), words[:, :longest]

    def _context(self, x: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return c, (D,) for all documents, or (B, D)."""
        if self.learned_context is not None:
            return self.learned_context.vector
        if self.config.context == "mean_hidden":
            return masked_mean(states, mask)[0]
        mean = masked_mean(x, mask)[0]
        return mean if self.context_map is None else self.context_map(mean)


class LamaForSequenceClassification(LamaPreTrainedModel, TextClassifierPreTrainedModel):
    """LAMA as a classifier: scores W_2 dropout(relu(W_1 doc + b_1)) + b_2, with `linear_mean` plus its linear term.

    Inputs, `attentions` (A, one (B, m, n)) and `hidden_states` are those of `LamaModel.forward`.
    """

    def __init__(self, config: LamaConfig) -> None:
        super().__init__(config)
        self.lama = LamaModel(config)
        self.classifier = text_classifier(
            config.document_size, config.classifier_size, config.num_labels, config.classifier_dropout
        )
        self.linear_mean: nn.Linear | None = None
        if config.linear_mean:
            self.linear_mean = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    def scores(self, outputs: Any) -> torch.Tensor:
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        if self.linear_mean is not None:
            logits = logits + self.linear_mean(outputs.pooler_output[:, -self.config.hidden_size :])
        return logits

    @torch.no_grad()
    def start_linear(self, weights: torch.Tensor) -> None:
        """Start as a linear classifier: scores are `weights` times the mean over the tokens of their first F numbers.

        Args:
            weights: (L, F), F at most d.

        Raises:
            ValueError: another shape; a model without `linear_mean`.
        """
        if self.linear_mean is None:
            raise ValueError("a linear start needs linear_mean=True in the config")
        start_weights(self.linear_mean, weights)
        last: Any = getattr(self.classifier, "output", self.classifier)
        last.weight.zero_()
        last.bias.zero_()

    def token_weights(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return A, the attention of each head to each word, (B, m, n); each row sums to 1."""
        outputs = self.lama(input_ids, attention_mask=attention_mask, output_attentions=True, return_dict=True)
        weights: torch.Tensor = outputs.attentions[0]
        return weights
