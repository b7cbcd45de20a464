"""The tokens of a text model: vectors of words, positions, dropout, and checks that name a caller's mistake."""

import torch
from torch import nn
from torch.nn import functional as F

from .layers_random_embedding import RandomEmbedding
from .ops_dropout import dropout
from .ops_position import word_positions
from .ops_text_checks import refuse_empty_batch, word_ids, word_mask


class TextInput(nn.Module):
    """The tokens x_i = [E[w_i] ; PE(i)]: sinusoids side by side with the word vectors, not added to them.

    Args:
        words: the table E. Ids behind its last row, those of hashed n-grams, are read as padding.
        num_ids: ids of the tokenizer; None: as many as the table has rows.
        position_dim: p, width of the sinusoids; 0: no positions.
        dropout: rate of dropout on x.
        word_dropout: rate at which whole words are left out in training.
    """

    def __init__(
        self,
        words: RandomEmbedding,
        position_dim: int,
        dropout: float,
        word_dropout: float,
        num_ids: int | None = None,
    ) -> None:
        super().__init__()
        self.words: nn.Embedding = words
        self.num_ngrams = 0 if num_ids is None else num_ids - words.num_embeddings
        self.position_dim = position_dim
        self.dropout = dropout
        self.word_dropout = word_dropout

    def replace_words(self, words: nn.Embedding) -> None:
        """Replace the word table by another.

        Raises:
            ValueError: the table follows from a seed, so that a checkpoint would not hold the new one.
        """
        if isinstance(self.words, RandomEmbedding) and self.words.follows_from_config:
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
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens x and the mask of the words.

        Args:
            input_ids: (B, n).
            attention_mask: (B, n), 1 at words, 0 elsewhere; None: all 1. Positions count the words.
            inputs_embeds: in place of input_ids, (B, n, v) word vectors, or (B, n, v + p) with positions; any values
                outside the mask.

        Returns:
            x (B, n, v + p), 0 outside the mask; mask, boolean (B, n).

        Raises:
            ValueError: both or none of input_ids and inputs_embeds, a wrong shape or type, an empty batch, ids outside
                the table, or a mask with other values than 0 and 1.
        """
        words, is_word = self._vectors(input_ids, inputs_embeds)
        mask = word_mask(words, attention_mask)
        if is_word is not None:
            mask = mask & is_word
        x = self._with_positions(words, mask)
        if self.training and self.word_dropout > 0:
            mask = mask & (torch.rand(mask.shape, device=mask.device) >= self.word_dropout)
        # Not a product: what a caller has left at padding may be no number.
        x = torch.where(mask.unsqueeze(-1), x, x.new_zeros(()))
        return dropout(x, self.dropout, training=self.training), mask

    def _vectors(
        self, input_ids: torch.Tensor | None, inputs_embeds: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the word vectors (B, n, v), or the caller's (B, n, v + p) with positions; and which ids are words.

        The latter is boolean (B, n), or None where all are.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass either input_ids or inputs_embeds")
        if input_ids is not None:
            rows = self.words.num_embeddings
            ids = word_ids(input_ids, rows + self.num_ngrams)
            if not self.num_ngrams:
                return self.words(ids), None
            is_word = ids < rows
            return self.words(torch.where(is_word, ids, torch.zeros_like(ids))), is_word
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
        return inputs_embeds, None

    def _with_positions(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.position_dim == 0 or words.size(2) != self.words.embedding_dim:
            return words
        return torch.cat([words, word_positions(mask, self.position_dim, words.dtype)], dim=-1)


def at_least_one_place(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x (B, n, m) and its mask (B, n), with one position of padding where n is 0.

    Most layers of torch refuse sequences of length 0.
    """
    if torch.compiler.is_compiling() or x.size(1):
        return x, mask
    return F.pad(x, (0, 0, 0, 1)), F.pad(mask, (0, 1))
