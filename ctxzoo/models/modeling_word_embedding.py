"""Word embeddings that predict a word from the words around it, which attention may weigh.

Ling et al., "Not All Contexts Are Created Equal: Better Word Representations with Variable Attention" (EMNLP 2015).
docs/models/word_embedding.md lists which function computes which equation, and the deviations.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init
from transformers.modeling_outputs import MaskedLMOutput
from transformers.utils import ModelOutput

from .configuration_word_embedding import InputGradient, WordEmbeddingConfig
from .modeling_base import ZooPreTrainedModel
from .ops_execution import call_with_recomputation
from .ops_inputs import check_word_ids, make_word_mask, to_int64
from .ops_word_embedding import (
    attention_weights,
    compute_weighted_context,
    gather_table_rows,
    gather_word_windows,
    mean_with_word2vec_gradient,
    negative_sampling_loss,
    uniform_weights,
)
from .ops_words import IGNORED, token_classification_loss


@dataclass
class WordContextOutput(ModelOutput):
    """The output of a model of words and of the words around them.

    Attributes:
        last_hidden_state: (B, n, d) vector W[w] of each word; 0 at padding and special tokens.
        context_state: (B, n, d) context c of each word, from the words around it; (B, n, 2b d) where positions are kept
            apart; 0 at padding and where no word is around.
        hidden_states: Word vectors and contexts, on request.
        attentions: Weights (B, n, 2b) of the words around each word, on request; 0 where there is none.
    """

    last_hidden_state: torch.Tensor | None = None
    context_state: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class WordTable(nn.Embedding):
    """A table with a row for each word, from U(-bound, bound); nothing reads the rows of special tokens, which are 0.

    Args:
        vocab_size, width: Number of rows and width of the table.
        num_special_tokens: Number of first rows that belong to special tokens and are 0.
        bound: Bound of the uniform distribution of the initial entries; 0: the table starts at 0.
    """

    def __init__(self, vocab_size: int, width: int, num_special_tokens: int, bound: float) -> None:
        self.num_special_tokens = num_special_tokens
        self.bound = bound
        super().__init__(vocab_size, width)

    def reset_parameters(self) -> None:
        init.uniform_(self.weight, -self.bound, self.bound)
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[: self.num_special_tokens].zero_()


class WordEmbeddingPreTrainedModel(ZooPreTrainedModel):
    """The base of the word embeddings."""

    config: WordEmbeddingConfig
    base_model_prefix = "word_embedding"
    main_input_name = "input_ids"
    _input_embed_layer = "word_vectors"

    def set_sparse_gradients(self, enabled: bool) -> None:
        """Set whether the gradients of tables of words hold only the rows that were read.

        With a large vocabulary a step of training by `sampled_loss` is then independent of its size. The optimizer
        must know sparse gradients: SGD without momentum, Adagrad, SparseAdam.
        """
        self.base_model.sparse_gradients = enabled


class WordEmbeddingModel(WordEmbeddingPreTrainedModel):
    """The vector W of each word, and the context c of the words around it: equations (2) and (3)."""

    def __init__(self, config: WordEmbeddingConfig) -> None:
        super().__init__(config)
        rows, special, positions = config.vocab_size, config.num_special_tokens, config.num_positions
        attends = config.architecture == "attention_cbow"
        has_word_logits = attends and config.word_logits
        self.sparse_gradients = False
        # The bound is that of word2vec.
        self.word_vectors = WordTable(rows, config.word_dim, special, bound=0.5 / config.word_dim)  # W
        self.word_position_logits: WordTable | None = None  # K
        self.word_factors: WordTable | None = None  # A of K = A B
        self.position_factors: nn.Parameter | None = None  # B
        if has_word_logits and config.logit_rank:
            self.word_factors = WordTable(rows, config.logit_rank, special, bound=0)
            self.position_factors = nn.Parameter(torch.empty(config.logit_rank, positions))
        elif has_word_logits:
            self.word_position_logits = WordTable(rows, positions, special, bound=0)
        has_position_logits = attends and config.position_logits
        self.position_logits = nn.Parameter(torch.empty(positions)) if has_position_logits else None  # s
        has_position_vectors = config.architecture == "positional_cbow"
        self.position_vectors = nn.Parameter(torch.empty(positions, config.word_dim)) if has_position_vectors else None
        self.post_init()

    def reset_parameters(self) -> None:
        """Fill the parameters that are in no module of their own: every model starts as CBOW, K = s = 0."""
        if self.position_factors is not None:
            # A starts at 0, and with E[B'B] = 1 a step of A moves K as far as a step of a full K would.
            init.normal_(self.position_factors, std=self.config.logit_rank**-0.5)
        if self.position_logits is not None:
            init.zeros_(self.position_logits)
        if self.position_vectors is not None:
            init.ones_(self.position_vectors)

    def forward(
        self,
        input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> WordContextOutput | tuple[torch.Tensor, ...]:
        """Read a batch of sentences.

        Args:
            input_ids: (B, n) ids of words; a special token is context of no word and leaves a gap.
            attention_mask: (B, n) mask, 1 at words, 0 at padding; default: all 1.

        Returns:
            `last_hidden_state` (B, n, d): W[w_t]; `context_state` (B, n, d): c_t, from the words around t without w_t
            itself; see `context`. On request `hidden_states`, these two, and `attentions`, the weights, one (B, n, 2b).

        Raises:
            ValueError: input_ids of another shape or type, an empty batch, ids outside the table, a mask of another
                shape or with other values than 0 and 1.
        """
        ids = check_word_ids(input_ids, self.config.vocab_size)
        contexts, present = self.collect_windows(ids, attention_mask)  # (B, n, 2b) each
        state, weights = self.compute_context(contexts, present)
        words = self.embed_words(ids) * self._find_words(ids, attention_mask).unsqueeze(-1)  # (B, n, d)
        output = WordContextOutput(
            last_hidden_state=words,
            context_state=state,
            hidden_states=(words, state) if self.resolve_output_flag(output_hidden_states, "hidden_states") else None,
            attentions=(weights,) if self.resolve_output_flag(output_attentions, "attentions") else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def collect_windows(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the ids of the words around every position, and a mask of where there are any; padding has none.

        Returns:
            Ids (B, n, 2b), and a boolean (B, n, 2b), False where there is no word.

        Raises:
            ValueError: see `forward`.
        """
        input_ids = check_word_ids(input_ids, self.config.vocab_size)
        is_word = self._find_words(input_ids, attention_mask)
        contexts, present = gather_word_windows(input_ids, is_word, self.config.window)
        return contexts, present & make_word_mask(input_ids, attention_mask).unsqueeze(-1)  # padding has no context

    def compute_context(
        self, contexts: torch.Tensor, present: torch.Tensor, input_gradient: InputGradient = "exact"
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the context c of windows, and the weights of the words in them.

        attention_cbow: the sum of a_i W[w_i] (2), a the softmax of e_i = K[w_i, i] + s_i over the words that are there
            (3).
        cbow and skip_gram: the mean of W[w_i]. positional_cbow: the mean of d_i * W[w_i]. cwindow: the W[w_i] side by
        side, 0 where there is no word. structured_skip_gram: as cwindow, each divided by the number of words.

        Args:
            contexts: (..., 2b) ids of the words around each centre.
            present: Boolean (..., 2b), False where there is no word around.
            input_gradient: Gradient of the context's words: "word2vec" gives each word of a mean the whole gradient,
                see `mean_with_word2vec_gradient`.

        Returns:
            c (..., `config.context_size`), 0 for a window without words; and the weights (..., 2b), 0 where there is no
            word.
        """
        words = self.embed_words(contexts)  # (..., 2b, d)
        weights = self._compute_attention_weights(contexts, present, words.dtype)
        if self.config.architecture == "cwindow":
            return (words * present.unsqueeze(-1)).flatten(-2), weights  # (..., 2b d)
        if self.config.architecture == "structured_skip_gram":
            return (words * weights.unsqueeze(-1)).flatten(-2), weights
        if self.position_vectors is not None:
            words = words * self.position_vectors  # d (2b, d)
        state = compute_weighted_context(weights, words)
        if input_gradient == "word2vec":
            state = mean_with_word2vec_gradient(state, words, present)
        return state, weights

    def embed_words(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors W[w], (..., d), of ids of any shape (...)."""
        return gather_table_rows(self.word_vectors.weight, ids, sparse=self.sparse_gradients)

    def _find_words(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        """Return a mask (B, n), True at words, not at special tokens or padding."""
        return make_word_mask(input_ids, attention_mask) & (input_ids >= self.config.num_special_tokens)

    def _compute_attention_weights(
        self, contexts: torch.Tensor, present: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor:
        """Return the weights a (..., 2b) of the words in windows."""
        logits = self._select_position_logits(contexts)
        if self.position_logits is not None:
            logits = self.position_logits.expand(contexts.shape) if logits is None else logits + self.position_logits
        return uniform_weights(present, dtype) if logits is None else attention_weights(logits, present)

    def _select_position_logits(self, contexts: torch.Tensor) -> torch.Tensor | None:
        """Return the attention logit K[w_i, i] of each context word at its position, (..., 2b); None without K."""
        if self.word_position_logits is not None:
            columns = torch.arange(self.config.num_positions, device=contexts.device)
            return gather_table_rows(self.word_position_logits.weight, contexts, columns, sparse=self.sparse_gradients)
        if self.word_factors is not None and self.position_factors is not None:
            factors = gather_table_rows(
                self.word_factors.weight, contexts, sparse=self.sparse_gradients
            )  # (..., 2b, r)
            # Row w_i of A times column i of B: each word at its own position alone, (..., 2b).
            return (factors * self.position_factors.T).sum(dim=-1)
        return None


class WordEmbeddingForMaskedLM(WordEmbeddingPreTrainedModel):
    """Word embeddings with the prediction of a word from those around it, p(v | c) = softmax over v of O[v].c (1).

    Every architecture has O, `output_vectors`: (V, d); structured_skip_gram (2b, V, d), a matrix for each position;
    cwindow (V, 2b d).
    """

    zoo_task = "fill-mask"

    def __init__(self, config: WordEmbeddingConfig) -> None:
        super().__init__(config)
        self.word_embedding = WordEmbeddingModel(config)
        shape: tuple[int, ...] = (config.vocab_size, config.context_size)
        if config.architecture == "structured_skip_gram":
            shape = (config.num_positions, config.vocab_size, config.word_dim)
        self.output_vectors = nn.Parameter(torch.empty(shape))
        self.post_init()

    def reset_parameters(self) -> None:
        """Set the output vectors O to 0."""
        init.zeros_(self.output_vectors)

    def forward(
        self,
        input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> MaskedLMOutput | tuple[torch.Tensor, ...]:
        """Score every word for every position, from the words around it; inputs as in `WordEmbeddingModel.forward`.

        The word at a position does not count for the scores there, masked or not.

        Args:
            labels: (B, n) ids of the words to predict, -100 where none is predicted; padding never counts.

        Returns:
            `logits` (B, n, V), the lowest finite value at special tokens; for skip_gram and structured_skip_gram the
            mean of the scores that each context word gives. The loss, in nats, is the mean of -log p(label) over the
            labelled positions, with the full softmax, and 0 where there is none; for the two skip-gram models
            -log p(label) is itself a mean, over the context words that each predict the label. A position without words
            around it counts with even probabilities. On request `hidden_states` and `attentions` as in the base model.

        Raises:
            ValueError: labels of another shape, or that are no words; see also `WordEmbeddingModel.forward`.
        """
        outputs = self.word_embedding(
            input_ids,
            attention_mask=attention_mask,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self._compute_logits(outputs.context_state, self._get_output_matrix())  # (B, n, V)
        loss = None
        if labels is not None:
            predicted = self._check_labels(labels, input_ids, attention_mask)
            if self.config.predicts_from_each_word:
                contexts, present = self.word_embedding.collect_windows(input_ids, attention_mask)
                labelled = predicted != IGNORED
                losses = self._compute_skip_gram_losses(
                    contexts[labelled], present[labelled], predicted[labelled]
                )  # (P,)
                loss = losses.sum() / labelled.sum().clamp(min=1)
            else:
                loss = token_classification_loss(logits, predicted)
        output = MaskedLMOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def sampled_loss(
        self,
        contexts: torch.Tensor,
        present: torch.Tensor,
        centres: torch.Tensor,
        noise: torch.Tensor,
        noise_kept: torch.Tensor,
        input_gradient: InputGradient = "exact",
    ) -> torch.Tensor:
        """Return the loss of negative sampling for each centre, (N,), in nats, from windows: what a trainer minimises.

        It is -log sigma(O[t].c) - sum over n of log sigma(-O[n].c); for skip_gram and structured_skip_gram the sum of
        the losses of the words that are there. Only the rows that are needed are read, see `set_sparse_gradients`.

        Args:
            contexts: (N, 2b) ids of words; any valid id where there is none.
            present: Boolean (N, 2b), False where there is no word around.
            centres: (N,) ids t of the centre words.
            noise: (N, S) ids n of noise words; for the two skip-gram models also (N, 2b, S), other ones for each
                context word.
            noise_kept: Booleans of the shape of `noise`, False at noise words that are left out, such as the centre
                itself.
            input_gradient: Gradient for cbow: "word2vec" takes that of word2vec in place of the exact one, see
                `mean_with_word2vec_gradient`.

        Raises:
            ValueError: shapes that do not fit, or "word2vec" for another architecture than cbow.
        """
        self._check_windows(contexts, present, centres, noise, noise_kept)
        if input_gradient != "exact" and not (input_gradient == "word2vec" and self.config.architecture == "cbow"):
            raise ValueError(
                f"input_gradient={input_gradient!r} with architecture={self.config.architecture!r}: expected 'exact', "
                "or 'word2vec' for cbow"
            )
        if self.config.predicts_from_each_word:
            states = self.word_embedding.embed_words(contexts)  # (N, 2b, d)
        else:
            states = self.word_embedding.compute_context(contexts, present, input_gradient)[0].unsqueeze(1)  # (N, 1, F)
        centres = centres.unsqueeze(-1)  # (N, 1)
        if noise.dim() == 3 or self.output_vectors.dim() == 3:
            # Each position reads rows of its own.
            states, positions = states.unsqueeze(2), contexts.size(1)
            centres = centres.unsqueeze(1).expand(-1, positions, -1)
            if noise.dim() == 2:
                noise, noise_kept = (x.unsqueeze(1).expand(-1, positions, -1) for x in (noise, noise_kept))
        rows = self._select_output_rows(torch.cat([centres, noise], dim=-1))  # (N, 1 + S, F) or (N, 2b, 1 + S, F)
        losses = negative_sampling_loss(states, rows, noise_kept).flatten(1)  # (N, 2b) or (N, 1)
        return (losses * present).sum(dim=1) if self.config.predicts_from_each_word else losses.squeeze(1)

    def _select_output_rows(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the output vectors of target words: O[t] (N, ..., d), or with a matrix for each position O[i, t]."""
        sparse = self.base_model.sparse_gradients
        if self.output_vectors.dim() == 3:
            columns = torch.arange(self.config.num_positions, device=targets.device).view(-1, 1)  # (2b, 1)
            return gather_table_rows(self.output_vectors, columns, targets, sparse=sparse)
        return gather_table_rows(self.output_vectors, targets, sparse=sparse)

    def _get_output_matrix(self) -> torch.Tensor:
        """Return the output vectors as one matrix (V, `config.context_size`), positions side by side."""
        if self.output_vectors.dim() == 3:
            return self.output_vectors.transpose(0, 1).flatten(1)  # (V, 2b d), in the order of the context
        return self.output_vectors

    def _compute_logits(self, states: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """Return the scores O c of all words, (..., V), for contexts (..., F) and O (V, F).

        Special tokens get the lowest finite number.
        """
        scores = F.linear(states, matrix)  # (..., V)
        is_special = torch.arange(scores.size(-1), device=scores.device) < self.config.num_special_tokens
        return scores.masked_fill(is_special, torch.finfo(scores.dtype).min)

    def _compute_skip_gram_losses(
        self, contexts: torch.Tensor, present: torch.Tensor, centres: torch.Tensor
    ) -> torch.Tensor:
        """Return for each of the centres (P,) the mean of -log p(centre | word) over its context words (P, 2b)."""

        def loss_at(column: int) -> torch.Tensor:
            """Return the cross-entropy (P,) of each centre, predicted from the word in one place of its window."""
            words = self.word_embedding.embed_words(contexts[:, column])  # (P, d)
            matrix = self.output_vectors[column] if self.output_vectors.dim() == 3 else self.output_vectors
            return F.cross_entropy(self._compute_logits(words, matrix), centres, reduction="none")

        weights = uniform_weights(present, self.output_vectors.dtype)
        # A centre without words around it has even probabilities.
        even = math.log(self.config.vocab_size - self.config.num_special_tokens)
        losses = even * (~present.any(dim=-1)).to(weights.dtype)
        for column in range(self.config.num_positions):
            # The scores (P, V) are of one position at a time; those of all would be kept for the backward pass.
            losses = losses + weights[:, column] * call_with_recomputation(loss_at, column)
        return losses

    def _check_labels(
        self, labels: torch.Tensor, input_ids: torch.Tensor, attention_mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the labels (B, n), checked, with -100 at padding; their values are only read on the CPU."""
        labels = to_int64("labels", labels)
        if labels.shape != input_ids.shape:
            raise ValueError(
                f"labels must have shape {tuple(input_ids.shape)}, one for each place, got {tuple(labels.shape)}"
            )
        labels = labels.masked_fill(~make_word_mask(input_ids, attention_mask), IGNORED)
        if torch.compiler.is_compiling() or labels.is_cuda:
            return labels
        given = labels[labels != IGNORED]
        low, high = self.config.num_special_tokens, self.config.vocab_size - 1
        odd = given[(given < low) | (given > high)]
        if len(odd):
            raise ValueError(f"label {odd[0].item()} is no word; expected {low} to {high}, or {IGNORED}")
        return labels

    def _check_windows(
        self,
        contexts: torch.Tensor,
        present: torch.Tensor,
        centres: torch.Tensor,
        noise: torch.Tensor,
        noise_kept: torch.Tensor,
    ) -> None:
        """Raise ValueError where shapes or ids of the windows or of the noise words are wrong.

        For P windows of R places: `contexts` ids and `present` booleans (P, R), `centres` ids (P,); `noise` and
        `noise_kept` share a shape.
        """
        positions, number = self.config.num_positions, centres.size(0)
        for name, x, shape in (
            ("contexts", contexts, (number, positions)),
            ("present", present, (number, positions)),
            ("noise_kept", noise_kept, tuple(noise.shape)),
        ):
            if tuple(x.shape) != shape:
                raise ValueError(f"{name} has shape {tuple(x.shape)}; expected {shape}")
        own = self.config.predicts_from_each_word and noise.dim() == 3
        if tuple(noise.shape[:-1]) != ((number, positions) if own else (number,)):
            raise ValueError(
                f"noise has shape {tuple(noise.shape)}; expected ({number}, S), or ({number}, {positions}, S) for the "
                f"skip-gram models; architecture is {self.config.architecture!r}"
            )
