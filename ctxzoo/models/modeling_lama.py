"""LAMA: documents through a bidirectional GRU and multi-head attention of low rank.

Mehta, Rangwala and Ramakrishnan, "Low Rank Factorization for Compact Multi-Head Self-Attention" (2019).
docs/models/lama.md lists which function computes which equation, and the deviations.
"""

import math
import warnings
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPooling

from .configuration_lama import LamaConfig
from .layers_linear import DEVIATION, build_text_classifier, normal_linear
from .layers_recurrent import MaskedBiRNN
from .layers_text_input import pad_empty_sequences
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel, copy_linear_weights
from .ops_execution import dropout
from .ops_inputs import check_mask_without_gaps, to_float32_or_wider
from .ops_lama import LARGEST_SCALE, low_rank_heads
from .ops_triton import Implementation
from .ops_words import masked_max, masked_mean, masked_softmax


class LowRankAttention(nn.Module):
    """Weighted sums A H of the states of words, with the weight of each word for each of m heads, A (B, m, n).

    f_t = (P^T c) * (Q^T u_t), summed over the k members of each head                        (3.10, 3.11)
    f_t = tanh(f_t), then divided by its length over the m heads
    A = softmax over the real words of logit_scale * f                                       (3.12, 3.13)

    With one head the division leaves the sign of f alone, whose gradient is 0: P, Q and c are then never trained, and a
    warning says so.

    Args:
        width: Width D of the context, and of the words where `word_size` is None.
        num_heads: Number of heads m.
        rank: Rank k of each head; the columns of head i in P and Q are i k to (i + 1) k - 1.
        l2_normalize: Whether the logits of a word are divided by their length.
        logit_scale: Factor of the logits.
        word_size: Width of the words, the rows of Q; default: D.
    """

    # How `low_rank_heads` computes: to be set on a layer, and kept in no configuration.
    implementation: Implementation = "auto"

    def __init__(
        self,
        width: int,
        num_heads: int,
        rank: int,
        *,
        l2_normalize: bool,
        logit_scale: float,
        word_size: int | None = None,
    ) -> None:
        super().__init__()
        if num_heads == 1 and l2_normalize:
            warnings.warn(
                "num_heads=1 with l2_normalize=True: the attention never learns, since a number divided by its length "
                "has no gradient; set l2_normalize=False or take more heads",
                stacklevel=2,
            )
        self.num_heads = num_heads
        self.rank = rank
        self.l2_normalize = l2_normalize
        self.logit_scale = float(logit_scale)
        self.context_factors = nn.Parameter(torch.empty(width, num_heads * rank))  # P
        self.word_factors = nn.Parameter(torch.empty(word_size or width, num_heads * rank))  # Q
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw P and Q from Xavier's uniform distribution (the paper is silent)."""
        for factors in (self.context_factors, self.word_factors):
            bound = math.sqrt(6 / sum(factors.shape))
            init.uniform_(factors, -bound, bound)

    def forward(
        self,
        states: torch.Tensor,
        context: torch.Tensor,
        mask: torch.Tensor,
        projection: nn.Module | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the weighted sums A H (B, m, D') and the weights A (B, m, n).

        A is in float32 or wider, and sums to 1 over the words of a document; 0 elsewhere.

        Args:
            states: (B, n, D') states H.
            context: Context c, (B, D) or (D,).
            mask: Boolean (B, n), True at words. A document without words has weights and sums 0.
            projection: Linear map W_w of the states, before the tanh that gives the words u; None: u = h.
        """
        gate = context @ self.context_factors  # (m k,) or (B, m k)
        # A gate for all documents costs nothing by the word.
        factors = self.word_factors * gate if gate.dim() == 1 else self.word_factors
        if self._can_fuse(states, projection):
            sums, weights = low_rank_heads(
                states,
                (projection.weight, projection.bias) if isinstance(projection, nn.Linear) else None,
                factors,
                gate if gate.dim() == 2 else None,
                mask,
                rank=self.rank,
                l2_normalize=self.l2_normalize,
                logit_scale=self.logit_scale,
                implementation=self.implementation,
            )
            return sums, weights.transpose(1, 2)
        words = states if projection is None else torch.tanh(projection(states))  # (3.7)
        scores = words @ factors if gate.dim() == 1 else (words @ factors) * gate.unsqueeze(1)  # (B, n, m k)
        if self.rank > 1:
            scores = scores.reshape(*scores.shape[:2], self.num_heads, self.rank).sum(dim=3)  # (B, n, m)
        logits = torch.tanh(to_float32_or_wider(scores))  # the softmax is in float32 or wider
        if self.l2_normalize:
            logits = F.normalize(logits, dim=2, eps=1e-12)  # over the m heads of a word, not over its text
        is_word = mask.unsqueeze(1)
        weights = masked_softmax(self.logit_scale * logits.transpose(1, 2), is_word, dim=2) * is_word
        return weights.to(states.dtype) @ states, weights

    def _can_fuse(self, states: torch.Tensor, projection: nn.Module | None) -> bool:
        """Return whether the closed form runs: not in a traced program, on a quantised map, or in half precision.

        Kernels that were asked for run in half precision too.
        """
        is_wide = states.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled(states.device.type)
        is_wide |= self.implementation == "triton"
        is_plain = projection is None or type(projection) is nn.Linear
        return is_wide and is_plain and self.logit_scale <= LARGEST_SCALE and not torch.compiler.is_compiling()

    def extra_repr(self) -> str:
        return f"{self.word_factors.size(0)}, num_heads={self.num_heads}, rank={self.rank}"


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
        self.embeddings = self.make_text_input(config.embedding_dropout)
        self.rnn = MaskedBiRNN(config.hidden_size, config.recurrent_size, cell="gru")
        word_size = width if config.projection_size is None else config.projection_size
        self.word_projection = normal_linear(width, word_size) if word_size else None
        self.attention = LowRankAttention(
            width,
            config.num_heads,
            config.rank,
            l2_normalize=config.l2_normalize,
            logit_scale=config.logit_scale,
            word_size=word_size or width,
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
        subword_ids: torch.LongTensor | None = None,
    ) -> BaseModelOutputWithPooling | tuple[torch.Tensor, ...]:
        """Read a batch of documents.

        Args:
            input_ids: (B, n) ids of words.
            attention_mask: (B, n) mask, 1 at words, 0 after them; default: all 1. A document without words has the
                vector 0; where n is 0, one position of padding is read.
            inputs_embeds: Word vectors (B, n, d) in place of input_ids.
            subword_ids: (B, n, s) sub-words of the words, where an encoder reads them: ids of its tokenizer plus 1, 0
                where a word has no more of them.

        Returns:
            `last_hidden_state` (B, n, D): the states H, 0 at padding; `pooler_output` (B, m D): S = A H, head after
            head (3.15), and behind it, with `append_pooled`, the mean and the maximum of H, and, with `linear_mean`,
            the mean of all tokens; on request `hidden_states`: tokens and states; and `attentions`: A, one (B, m, n).
            States and weights are of words alone, 0 at n-grams.

        Raises:
            ValueError: see `TextInput.forward`; a mask with a word after padding; inputs_embeds where the config has
                n-grams, which are recognised by their ids.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds, subword_ids)  # (B, n, d) and (B, n)
        x, mask = pad_empty_sequences(x, mask)
        check_mask_without_gaps(mask)
        all_tokens, all_mask = x, mask  # n-grams too, for the linear mean
        if self.config.ngram_buckets:
            x, mask = self._drop_ngrams(x, mask, input_ids)
        states = dropout(self.rnn(x, mask), self.config.hidden_dropout, training=self.training)  # (B, n, D)
        context = self._compute_context(x, states, mask)
        summed, weights = self.attention(states, context, mask, self.word_projection)  # (B, m, D), (B, m, n)
        document = summed.flatten(1)  # (B, m D), head after head
        if self.config.append_pooled:
            document = torch.cat([document, masked_mean(states, mask)[0], masked_max(states, mask)[0]], dim=1)
        if self.config.linear_mean:
            document = torch.cat([document, masked_mean(all_tokens, all_mask)[0]], dim=1)
        num_ngrams = all_tokens.size(1) - x.size(1)  # positions of n-grams alone
        states, weights = F.pad(states, (0, 0, 0, num_ngrams)), F.pad(weights, (0, num_ngrams))
        output = BaseModelOutputWithPooling(
            last_hidden_state=states,
            pooler_output=document,
            hidden_states=(all_tokens, states)
            if self.resolve_output_flag(output_hidden_states, "hidden_states")
            else None,
            attentions=(weights,) if self.resolve_output_flag(output_attentions, "attentions") else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _drop_ngrams(
        self, x: torch.Tensor, mask: torch.Tensor, input_ids: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens and mask without the n-grams, which stand behind the words of each document."""
        if input_ids is None:
            raise ValueError(
                f"inputs_embeds with ngram_buckets={self.config.ngram_buckets}: n-grams are told from words by their "
                "ids; give input_ids"
            )
        is_word = input_ids < self.config.vocab_size - self.config.ngram_buckets
        # `pad_empty_sequences` may have made the mask longer than the ids.
        words = mask & F.pad(is_word, (0, mask.size(1) - is_word.size(1)))
        check_mask_without_gaps(words)
        if torch.compiler.is_compiling():
            # A length that follows from values would break the graph; n-grams stay as padding.
            return x * words.unsqueeze(-1), words
        longest = max(1, int(words.sum(dim=1).max()))  # recurrent layers refuse 0 steps
        return x[:, :longest] * words[:, :longest].unsqueeze(-1), words[:, :longest]

    def _compute_context(self, x: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the vector c to which attention compares words: (D,) learned, or (B, D) made of each document."""
        if self.learned_context is not None:
            return self.learned_context.vector
        if self.config.context == "mean_hidden":
            return masked_mean(states, mask)[0]
        mean = masked_mean(x, mask)[0]  # (B, d)
        return mean if self.context_map is None else self.context_map(mean)


class LamaForSequenceClassification(LamaPreTrainedModel, TextClassifierPreTrainedModel):
    """LAMA as a classifier: scores W_2 dropout(relu(W_1 doc + b_1)) + b_2, with `linear_mean` plus its linear term.

    Inputs, `attentions` (A, one (B, m, n)) and `hidden_states` are those of `LamaModel.forward`.
    """

    def __init__(self, config: LamaConfig) -> None:
        super().__init__(config)
        self.lama = LamaModel(config)
        self.classifier = build_text_classifier(
            config.document_vector_size, config.classifier_size, config.num_labels, config.classifier_dropout
        )
        self.linear_mean: nn.Linear | None = None
        if config.linear_mean:
            self.linear_mean = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        """Return logits (B, num_labels) of the document, plus those of the mean token, if wanted."""
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        if self.linear_mean is not None:
            # The mean of all tokens stands last in the document.
            logits = logits + self.linear_mean(outputs.pooler_output[:, -self.config.hidden_size :])
        return logits

    @torch.no_grad()
    def init_from_linear_classifier(self, weights: torch.Tensor) -> None:
        """Start as a linear classifier: scores are `weights` times the mean over the tokens of their first F numbers.

        Args:
            weights: (L, F) weights of a linear classifier on F features, at most d.

        Raises:
            ValueError: another shape; a model without `linear_mean`.
        """
        if self.linear_mean is None:
            raise ValueError("a linear start needs linear_mean=True in the config")
        copy_linear_weights(self.linear_mean, weights)
        # With the last layer of the other term at 0 the linear one alone is left.
        last: Any = getattr(self.classifier, "output", self.classifier)
        last.weight.zero_()
        last.bias.zero_()

    def token_weights(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        subword_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return A, the attention of each head to each word, (B, m, n); each row sums to 1."""
        outputs = self.lama(
            input_ids, attention_mask=attention_mask, subword_ids=subword_ids, output_attentions=True, return_dict=True
        )
        weights: torch.Tensor = outputs.attentions[0]
        return weights
