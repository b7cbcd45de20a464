"""What models read: vectors of words with positions, or steps of other sequences; dropout, and checks of callers.

Vectors are drawn from a uniform distribution: trained, or fixed by a seed, with the same bits on every machine.
"""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_pretrained_encoder import EncoderWords
from .ops_execution import dropout
from .ops_inputs import check_word_ids, make_word_mask, refuse_empty_batch
from .ops_words import take_rows, word_positions

_ROUNDS = ((16, 0x7FEB352D), (15, 0x846CA68B))  # shifts and factors of the hash function "lowbias32"
_COLUMNS = 0x9E3779B9
_MASK = 0xFFFFFFFF


class RandomEmbedding(nn.Embedding):
    """A table of word vectors drawn from U(-bound, bound); row 0 (padding) is zero.

    Args:
        vocab_size, width: Number of rows and width of the table.
        trainable: Whether the table is trained.
        bound: Bound of the uniform distribution U(-bound, bound).
        seed: Seed of a table that is not trained: the table is a function of this number alone (`seeded_uniform`), and
            checkpoints do not hold it. None draws the table as other weights are drawn.
    """

    def __init__(
        self, vocab_size: int, width: int, *, trainable: bool, bound: float = 1.0, seed: int | None = None
    ) -> None:
        self.bound = bound
        self.seed = None if trainable else seed
        super().__init__(vocab_size, width, padding_idx=0)
        self.weight.requires_grad_(trainable)

    @property
    def is_derived_from_config(self) -> bool:
        """Whether the table is left out of checkpoints (`ZooPreTrainedModel.post_init`)."""
        return self.seed is not None

    def reset_parameters(self) -> None:
        if self.weight.is_meta:
            return
        if self.seed is None:
            init.uniform_(self.weight, -self.bound, self.bound)
        else:
            cpu = torch.device("cpu")
            drawn = seeded_uniform(self.num_embeddings, self.embedding_dim, self.seed, device=cpu)
            init.copy_(self.weight, self.bound * drawn)
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[0].zero_()


class PretrainedEmbedding(nn.Module):
    """A table that starts from given word vectors: these, fixed, as int8, and what training adds to the first rows.

    Args:
        vocab_size, width: Number of rows and width of the table.
        trained_rows: Number of first rows to which training adds a difference, row 0 (padding) among them.
    """

    vectors: torch.Tensor
    scales: torch.Tensor
    mean_weights: torch.Tensor

    def __init__(self, vocab_size: int, width: int, trained_rows: int) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = vocab_size, width
        self.weight = nn.Parameter(torch.empty(trained_rows, width))
        self.register_buffer("vectors", torch.empty(vocab_size, width, dtype=torch.int8))
        self.register_buffer("scales", torch.empty(width))
        self.register_buffer("mean_weights", torch.empty(vocab_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.zeros_(self.weight)
        init.zeros_(self.vectors)
        init.ones_(self.scales)
        init.zeros_(self.mean_weights)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors (B, n, width) of ids (B, n): the fixed ones, and what training has added."""
        is_trained = input_ids < len(self.weight)
        rows = torch.where(is_trained, input_ids, torch.zeros_like(input_ids))
        return self.look_up_fixed(input_ids) + F.embedding(rows, self.weight, padding_idx=0)

    def look_up_fixed(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors (B, n, width) that ids (B, n) start from."""
        return take_rows(self.vectors, input_ids).to(self.scales.dtype) * self.scales

    @torch.no_grad()
    def init_from_vectors(
        self, vectors: torch.Tensor, scales: torch.Tensor, differences: torch.Tensor, mean_weights: torch.Tensor
    ) -> None:
        """Copy given vectors into the table.

        Args:
            vectors, scales: int8 vectors (vocab_size, width), and the factor (width,) of each column.
            differences: (trained_rows, width) start of what training adds.
            mean_weights: (vocab_size,) weight of each word in a mean of vectors, 0 for words without one.

        Raises:
            ValueError: another shape.
        """
        values = {"vectors": vectors, "scales": scales, "weight": differences, "mean_weights": mean_weights}
        for name, value in values.items():
            current = getattr(self, name)
            if value.shape != current.shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)}; expected {tuple(current.shape)}")
            current.copy_(value)
        self.weight[0].zero_()


def _hash_integers(values: torch.Tensor) -> torch.Tensor:
    """Map 32-bit integers, held in int64, one to one, so that neighbours are spread over the whole range."""
    for shift, factor in _ROUNDS:
        # The product may overflow 64 bits; the low 32, which are kept, are right nevertheless.
        values = ((values ^ (values >> shift)) * factor) & _MASK
    return values ^ (values >> 16)


def seeded_uniform(rows: int, columns: int, seed: int, *, device: torch.device | None = None) -> torch.Tensor:
    """Return a (rows, columns) table of random float32 numbers in [-1, 1), multiples of 2^-23.

    Entry (r, c) depends on seed, r and c only. The arithmetic is that of integers, so nothing is rounded and every
    machine gives the same bits; torch's own generators promise that for one release on one kind of device.
    """
    start = _hash_integers(torch.tensor(seed & _MASK, dtype=torch.int64, device=device))
    row_keys = _hash_integers(torch.arange(rows, dtype=torch.int64, device=device) ^ start)
    # Columns start from another number than rows: otherwise the diagonal would be constant.
    column_keys = _hash_integers((torch.arange(columns, dtype=torch.int64, device=device) + _COLUMNS) & _MASK)
    bits = _hash_integers(row_keys.unsqueeze(1) ^ column_keys) >> 8  # 24 bits
    return bits.to(torch.float32) * 2.0**-23 - 1.0


class TextInput(nn.Module):
    """The tokens x_i = [E[w_i] ; PE(i)]: sinusoids side by side with the word vectors, not added to them.

    Args:
        words: Table E of word vectors, or an encoder in its place; ids behind its last row, those of hashed n-grams,
            are read as padding.
        num_ids: Number of ids of the tokenizer; None: the number of rows of the table.
        position_dim: Width p of the sinusoids; 0: no positions.
        dropout: Dropout rate on the input vectors x.
        word_dropout: Rate at which whole words are left out in training.
    """

    def __init__(
        self,
        words: RandomEmbedding | PretrainedEmbedding | EncoderWords,
        position_dim: int,
        dropout: float,
        word_dropout: float,
        num_ids: int | None = None,
    ) -> None:
        super().__init__()
        self.words: nn.Embedding | PretrainedEmbedding | EncoderWords = words
        self.num_ngrams = 0 if num_ids is None else num_ids - words.num_embeddings
        self.position_dim = position_dim
        self.dropout = dropout
        self.word_dropout = word_dropout

    def replace_words(self, words: nn.Embedding) -> None:
        """Replace the table of word vectors by another.

        Raises:
            ValueError: the table follows from a seed, so that a checkpoint would not hold the new one; there is an
                encoder in its place.
        """
        if isinstance(self.words, EncoderWords):
            raise ValueError("the model reads words through an encoder, and has no table of word vectors to replace")
        if isinstance(self.words, RandomEmbedding) and self.words.is_derived_from_config:
            raise ValueError(
                f"the word vectors follow from embedding_seed={self.words.seed} and are not saved; make the model with "
                "embedding_seed=None to change them"
            )
        self.words = words

    def forward(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
        subword_ids: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens x and the mask of the words.

        Args:
            input_ids: (B, n) ids of words.
            attention_mask: (B, n), 1 at words, 0 elsewhere; None: all 1. Positions count the words.
            inputs_embeds: Word vectors (B, n, v) in place of input_ids, or (B, n, v + p) with positions; any values
                outside the mask.
            subword_ids: (B, n, s) sub-words of the words beside input_ids, where an encoder reads them.

        Returns:
            x (B, n, v + p), 0 outside the mask; mask, boolean (B, n).

        Raises:
            ValueError: both or none of input_ids and inputs_embeds, a wrong shape or type, an empty batch, ids outside
                the table, a mask with other values than 0 and 1, or subword_ids missing or without an encoder.
        """
        words, mask = self._embed_words(input_ids, attention_mask, inputs_embeds, subword_ids)
        x = self._add_positions(words, mask)
        if self.training and self.word_dropout > 0:
            # Positions are there already: they count the words that are left out here, too.
            mask = mask & (torch.rand(mask.shape, device=mask.device) >= self.word_dropout)
        # Not a product: what a caller has left at padding may be no number.
        x = torch.where(mask.unsqueeze(-1), x, x.new_zeros(()))
        return dropout(x, self.dropout, training=self.training), mask

    def _embed_words(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
        subword_ids: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the word vectors (B, n, v), or the caller's (B, n, v + p) with positions; and the mask (B, n)."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass either input_ids or inputs_embeds")
        if input_ids is not None:
            rows = self.words.num_embeddings
            ids = check_word_ids(input_ids, rows + self.num_ngrams)
            mask = make_word_mask(ids, attention_mask)
            if self.num_ngrams:
                # N-grams have no row: they read row 0, and the mask leaves them out.
                is_word = ids < rows
                ids, mask = torch.where(is_word, ids, torch.zeros_like(ids)), mask & is_word
            if isinstance(self.words, EncoderWords):
                return self.words(subword_ids, mask), mask
            if subword_ids is not None:
                raise ValueError("subword_ids for a model that reads words from a table; leave them out")
            return self.words(ids), mask
        assert inputs_embeds is not None
        widths = self.words.embedding_dim, self.words.embedding_dim + self.position_dim
        if inputs_embeds.dim() != 3 or inputs_embeds.size(2) not in widths:
            raise ValueError(
                f"inputs_embeds of shape {tuple(inputs_embeds.shape)}: expected (batch, words, {widths[0]}) for word "
                f"vectors, or (batch, words, {widths[1]}) for word vectors with positions"
            )
        if not inputs_embeds.is_floating_point():
            raise ValueError(f"inputs_embeds must be vectors, got {inputs_embeds.dtype}; ids are input_ids")
        refuse_empty_batch("inputs_embeds", inputs_embeds)
        return inputs_embeds, make_word_mask(inputs_embeds, attention_mask)

    def _add_positions(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.position_dim == 0 or words.size(2) != self.words.embedding_dim:
            return words
        return torch.cat([words, word_positions(mask, self.position_dim, words.dtype)], dim=-1)  # (B, n, v + p)


def pad_empty_sequences(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x (B, n, m) and its mask (B, n), with one position of padding where n is 0.

    Most layers of torch refuse sequences of length 0.
    """
    if torch.compiler.is_compiling() or x.size(1):
        return x, mask
    return F.pad(x, (0, 0, 0, 1)), F.pad(mask, (0, 1))  # (B, 1, m), (B, 1)


class StepInput(nn.Module):
    """The steps of a sequence that is no text, as they are given.

    Args:
        size: Number of features of a step.
        dropout: Dropout rate on the features.
    """

    words = None  # there is no table of words

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.dropout = dropout

    def forward(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the steps (B, n, size), 0 outside the mask, and the mask as booleans (B, n).

        Raises:
            ValueError: ids, no steps, steps of another shape or type, an empty batch, a mask of another shape or with
                other values than 0 and 1.
        """
        if input_ids is not None or inputs_embeds is None:
            raise ValueError("the model reads no words (vocab_size is 0): pass inputs_embeds, and no input_ids")
        if inputs_embeds.dim() != 3 or inputs_embeds.size(2) != self.size or not inputs_embeds.is_floating_point():
            raise ValueError(
                f"inputs_embeds of shape {tuple(inputs_embeds.shape)} and type {inputs_embeds.dtype}: expected "
                f"(batch, steps, {self.size}) floats"
            )
        refuse_empty_batch("inputs_embeds", inputs_embeds)
        mask = make_word_mask(inputs_embeds, attention_mask)
        x = torch.where(mask.unsqueeze(-1), inputs_embeds, inputs_embeds.new_zeros(()))
        return dropout(x, self.dropout, training=self.training), mask
