"""Layers of BiDAF: vectors of words, positions and characters, highway, attention flow, self-attention over words."""

import math
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_pretrained_encoder import EncoderWords
from .layers_recurrent import MaskedBiRNN
from .ops_bidaf import attention_flow, trilinear_similarity, unique_rows
from .ops_execution import dropout, is_exporting
from .ops_words import masked_softmax, sinusoidal_positions


class WordEmbedding(nn.Embedding):
    """Word vectors; row 0 (padding) is zero and, when the vectors are given and frozen, so is row 1 (no vector)."""

    def __init__(self, vocab_size: int, width: int, trainable: bool) -> None:
        self.trainable = trainable
        super().__init__(vocab_size, width, padding_idx=0)
        self.weight.requires_grad_(trainable)

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.1)
        # Rows that a checkpoint has loaded stay as they are.
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[: 1 if self.trainable else 2].zero_()


class PositionEmbedding(nn.Module):
    """Positions added to words (B, n, width): none, sinusoids (Vaswani et al. 2017) or a learned table.

    Args:
        kind: Kind of position embedding: none, sinusoidal or learned.
        max_positions: Number of rows of the learned table.
        width: Width d.
        scale: Factor of the sinusoids.

    Raises:
        ValueError: in forward, when the input is longer than the learned table.
    """

    def __init__(
        self, kind: Literal["none", "sinusoidal", "learned"], max_positions: int, width: int, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.kind = kind
        self.width = width
        self.scale = scale
        self.max_positions = max_positions
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, width))
            self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.kind == "learned":
            # The table starts as the weights of a linear layer with `width` inputs do.
            bound = 1 / math.sqrt(self.width)
            init.uniform_(self.table, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.size(1)
        if self.kind == "none":
            return x
        if self.kind == "sinusoidal":
            return x + self.scale * sinusoidal_positions(length, self.width, device=x.device, dtype=x.dtype)
        if length > self.max_positions:
            raise ValueError(
                f"input of {length} words is longer than max_position_embeddings={self.max_positions}; cut it, read it "
                "in windows, or use position_embedding='sinusoidal'"
            )
        return x + self.table[:length].to(x.dtype)


class WordPositionEmbedding(nn.Module):
    """Word vectors, dropout, projection without bias, positions, dropout (steps 1 and 2 of the paper's input).

    Without positions there is one dropout, on the word vectors. These may be the states of an encoder.
    """

    def __init__(
        self, words: WordEmbedding | EncoderWords, width: int, position: PositionEmbedding, dropout: float
    ) -> None:
        super().__init__()
        self.words = words
        self.projection = nn.Linear(words.embedding_dim, width, bias=False)
        self.position = position
        self.dropout = dropout

    def forward(
        self, input_ids: torch.Tensor, mask: torch.Tensor | None = None, subword_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the vectors (B, n, width) of words.

        Args:
            input_ids: (B, n) ids of words, which a table reads.
            mask: Boolean (B, n), True at words that an encoder reads; None: all.
            subword_ids: (B, n, s) sub-words of words, which an encoder reads.

        Raises:
            ValueError: subword_ids missing, or without an encoder.
        """
        if isinstance(self.words, EncoderWords):
            words = self.words(subword_ids, torch.ones_like(input_ids, dtype=torch.bool) if mask is None else mask)
        elif subword_ids is not None:
            raise ValueError("subword_ids for a model that reads words from a table; leave them out")
        else:
            words = self.words(input_ids)
        words = dropout(words, self.dropout, training=self.training)
        x: torch.Tensor = self.projection(words)
        if self.position.kind == "none":
            return x
        return dropout(self.position(x), self.dropout, training=self.training)


class CharCnn(nn.Module):
    """Character embeddings, one convolution of width w over all of them, ReLU, maximum over L - w + 1 positions.

    A word's vector depends on its own characters alone. `char_ids` narrower than w are padded up to w, so trimming a
    batch to its longest word is allowed.

    Args:
        vocab_size: Number of characters; row 0 is padding (zero and never trained), row 1 unknown.
        embedding_size: Width of a character vector.
        channels: Number of filters.
        kernel_size: Width w of the filters, in characters.
        max_word_length: Number L of characters of a word; the caller cuts longer words.
        dropout: Dropout rate on the character vectors.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        channels: int,
        kernel_size: int,
        max_word_length: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.kernel_size = kernel_size
        self.max_word_length = max_word_length
        self.dropout = dropout
        self.embedding = CharEmbedding(vocab_size, embedding_size, padding_idx=0)
        # A 2-d kernel of the embedding's full height is a 1-d convolution with the embedding as input channels.
        self.convolution = nn.Conv1d(embedding_size, channels, kernel_size)

    def forward(self, char_ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors (B, n, channels) of words from the ids (B, n, l) of their characters, l <= L."""
        length = char_ids.size(-1)
        if length > self.max_word_length:
            raise ValueError(f"char_ids has {length} characters for each word, the model takes {self.max_word_length}")
        # The maximum is always over all L - w + 1 positions: with fewer of them a trimmed batch would lose the value
        # that the convolution's bias gives at padding, and outputs would depend on the batch.
        char_ids = F.pad(char_ids, (0, self.max_word_length - length))  # (B, n, L)
        # How many words are distinct is a value: a device would wait for it, and a traced program cannot have it.
        if char_ids.device.type != "cpu" or torch.compiler.is_compiling():
            return self._embed_distinct_words(char_ids.flatten(0, 1)).view(*char_ids.shape[:2], -1)
        # Words repeat: a batch holds three to four times as many words as distinct ones. Equal words share
        # their vector, and in training their dropout mask.
        distinct, inverse = unique_rows(char_ids.flatten(0, 1))
        plain = self.training or torch.is_grad_enabled()
        vectors = self._embed_distinct_words(distinct) if plain else self._look_up_distinct_words(distinct)
        return F.embedding(inverse.view(char_ids.shape[:2]), vectors)

    def _embed_distinct_words(self, char_ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors (N, channels) of words from their characters (N, L), whether distinct or not."""
        x = dropout(self.embedding(char_ids), self.dropout, training=self.training)  # (N, L, embedding_size)
        x = self.convolution(x.transpose(1, 2))  # (N, channels, L - w + 1)
        # The maximum comes before ReLU: the same value, as ReLU is monotone, for a tenth of the work.
        return torch.relu(x.amax(dim=-1))

    def _look_up_distinct_words(self, char_ids: torch.Tensor) -> torch.Tensor:
        """Return what `_embed_distinct_words` does without dropout, but for the order of its sums.

        Each character is multiplied by each column of the filters once, not at every place where it stands; a position
        of the convolution then sums w of these products.
        """
        filters = self.convolution.weight.permute(1, 2, 0).flatten(1)  # (embedding_size, w channels)
        channels = self.convolution.out_channels
        products = (self.embedding.weight @ filters).view(-1, channels)  # (vocab_size w, channels)
        columns = torch.arange(self.kernel_size)
        rows = char_ids.unfold(1, self.kernel_size, 1) * self.kernel_size + columns  # (N, L - w + 1, w)
        x = F.embedding_bag(rows.flatten(0, 1), products, mode="sum").view(*rows.shape[:2], channels)
        assert self.convolution.bias is not None
        return torch.relu(x.amax(dim=1) + self.convolution.bias)


class CharEmbedding(nn.Embedding):
    """Character vectors drawn from N(0, 0.1^2); the padding row is zero."""

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.1)
        if not getattr(self.weight, "_is_hf_initialized", False):
            self._fill_padding_idx_with_zero()


class Highway(nn.Module):
    """`num_layers` layers x <- g t + (1 - g) x on (…, width), with g = sigmoid(W_g x + b) and t = relu(W_t x + b)."""

    def __init__(self, width: int, num_layers: int) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(num_layers))
        self.transforms = nn.ModuleList(nn.Linear(width, width) for _ in range(num_layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x (..., d), in each layer partly replaced by a transformation, as much as a gate says."""
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g = torch.sigmoid(gate(x))
            # g t + (1 - g) x with one product less.
            x = x + g * (torch.relu(transform(x)) - x)
        return x


def trilinear_init_bound(width: int) -> float:
    """Return the bound of the uniform distribution that w_cq starts from, for words that are `width` wide.

    It is the bound of the course starter: Xavier's rule for a weight of the shape (1, 1, `width`), not for one of (1,
    `width`).
    """
    return math.sqrt(3 / width)


class TrilinearSimilarity(nn.Module):
    """The similarity S_ij = w_c.c_i + w_q.q_j + (w_cq * c_i).q_j + b of the words of a context and a question.

    Weights start from Xavier's uniform distribution and the bias from zero, as in the course starter.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context_weight = nn.Parameter(torch.empty(width, 1))
        self.question_weight = nn.Parameter(torch.empty(width, 1))
        self.product_weight = nn.Parameter(torch.empty(1, width))
        self.bias = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.context_weight, self.question_weight):
            init.xavier_uniform_(weight)
        bound = trilinear_init_bound(self.product_weight.shape[1])
        init.uniform_(self.product_weight, -bound, bound)
        init.zeros_(self.bias)

    def forward(self, context: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        """Return S (B, C, Q) of a context (B, C, d) and a question (B, Q, d)."""
        dtype = context.dtype
        return trilinear_similarity(
            context,
            question,
            self.context_weight.flatten().to(dtype),
            self.question_weight.flatten().to(dtype),
            self.product_weight.flatten().to(dtype),
            self.bias.to(dtype),
        )


class AttentionFlow(nn.Module):
    """BiDAF's attention flow layer: similarity of dropped-out c and q, then G from c and q themselves.

    Args:
        width: Width d of the encoded words.
        dropout: Dropout rate on the vectors c and q that enter the similarity S.
        query_to_context: Form of the query-to-context attention, see `ops_bidaf.attention_flow`.
    """

    def __init__(
        self, width: int, dropout: float, query_to_context: Literal["coattention", "max"] = "coattention"
    ) -> None:
        super().__init__()
        self.similarity = TrilinearSimilarity(width)
        self.dropout = dropout
        self.query_to_context = query_to_context

    def forward(
        self, context: torch.Tensor, question: torch.Tensor, context_mask: torch.Tensor, question_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the attended context G (B, C, 4d) and two attention maps, S1 (B, C, Q) and S2.

        The context is (B, C, d), the question (B, Q, d).

        The masks are boolean, (B, C) and (B, Q); S2 is that of `ops_bidaf.attention_flow`.
        """
        similarity = self.similarity(
            dropout(context, self.dropout, training=self.training),
            dropout(question, self.dropout, training=self.training),
        )
        return attention_flow(context, question, similarity, context_mask, question_mask, self.query_to_context)


class SingleHeadSelfAttention(nn.Module):
    """Self-attention with one head, softmax(X W_q (X W_k)^T / sqrt(d)) X W_v, without bias and output map.

    Args:
        width: Width d.
        dropout: Dropout rate on the attention weights.
        residual: Whether x is added to the output, followed by a LayerNorm [ours]; otherwise the paper's literal layer
            without a residual path.
    """

    def __init__(self, width: int, dropout: float, residual: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width) if residual else None
        self.dropout = dropout

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the attended words (B, n, d) of x (B, n, d) with a boolean mask (B, n)."""
        query, key, value = self.query(x), self.key(x), self.value(x)
        visible = mask.unsqueeze(1)  # (B, 1, n), the same words for every query
        rate = self.dropout if self.training else 0.0
        has_heads = is_exporting()  # in ONNX there is a dimension of heads
        if has_heads:
            query, key, value, visible = (part.unsqueeze(1) for part in (query, key, value, visible))
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=visible, dropout_p=rate)
        attended = attended.squeeze(1) if has_heads else attended
        return attended if self.norm is None else self.norm(x + attended)

    def attention_weights(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the attention map (B, n, n), whose rows sum to 1 over the real words, for inspection."""
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(x.size(-1))
        return masked_softmax(scores, mask.unsqueeze(1), dim=2)


class ContextSelfAttention(nn.Module):
    """Self-attention of the context after the attention flow, with a residual connection (Clark and Gardner 2018, 3.2).

    x = relu(W G); r = BiGRU(x); a = trilinear self-attention of r, no word attending to itself; the output is
    x + relu(W' [r ; a ; r*a]).

    Args:
        input_size: Width of the attended context G.
        hidden_size: Hidden size h; the output has width 2h.
        dropout: Dropout rate on the inputs of the GRU and of the attention.
    """

    def __init__(self, input_size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        width = 2 * hidden_size
        self.reduce = nn.Linear(input_size, width)
        self.encoder = MaskedBiRNN(width, hidden_size, cell="gru")
        self.similarity = TrilinearSimilarity(width)
        self.merge = nn.Linear(3 * width, width)
        self.dropout = dropout

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output (B, C, 2h) and the attention map (B, C, C) of x (B, C, input_size).

        The mask is boolean, (B, C).
        """
        x = torch.relu(self.reduce(x))  # (B, C, 2h)
        r = self.encoder(dropout(x, self.dropout, training=self.training), mask)
        r = dropout(r, self.dropout, training=self.training)
        similarity = self.similarity(r, r)  # (B, C, C)
        others = ~torch.eye(x.size(1), dtype=torch.bool, device=x.device) & mask.unsqueeze(1)  # (B, C, C)
        # A context of one word has no other word to look at; its row must then be zero, not uniform over padding.
        weights = masked_softmax(similarity, others, dim=2) * others
        attended = torch.bmm(weights.to(r.dtype), r)  # (B, C, 2h)
        return x + torch.relu(self.merge(torch.cat([r, attended, r * attended], dim=-1))), weights
