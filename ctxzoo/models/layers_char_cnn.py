"""A vector for each word from its characters (Kim 2014, as BiDAF uses it)."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .ops_dropout import dropout
from .ops_unique import unique_rows


class CharCnn(nn.Module):
    """Character embeddings, one convolution of width w over all of them, ReLU, maximum over the L - w + 1 places.

    A word's vector depends on its own characters alone. `char_ids` narrower than w are padded up to w, so trimming a
    batch to its longest word is allowed.

    Args:
        vocab_size: characters; row 0 is padding (zero and never trained), row 1 unknown.
        embedding_size: width of a character.
        channels: filters.
        kernel_size: w.
        max_word_length: L; characters beyond it are an error of the caller.
        dropout: rate on the character embeddings.
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
        """(B, n, l) integers, l <= L -> (B, n, channels)."""
        length = char_ids.size(-1)
        if length > self.max_word_length:
            raise ValueError(f"char_ids has {length} characters for each word, the model takes {self.max_word_length}")
        # The place for the maximum is always over L characters: with fewer places than L - w + 1 a trimmed batch would
        # lose the value that the convolution's bias gives at padding, and outputs would depend on the batch.
        char_ids = F.pad(char_ids, (0, self.max_word_length - length))
        if char_ids.device.type != "cpu" or torch.compiler.is_compiling():
            return self._vectors(char_ids.flatten(0, 1)).view(*char_ids.shape[:2], -1)
        # Words repeat: a batch holds three to four times as many words as distinct ones. Equal words share their
        # vector,
        # and in training their dropout mask.
        distinct, inverse = unique_rows(char_ids.flatten(0, 1))
        return F.embedding(inverse.view(char_ids.shape[:2]), self._vectors(distinct))

    def _vectors(self, char_ids: torch.Tensor) -> torch.Tensor:
        """(N, L) -> (N, channels)."""
        x = dropout(self.embedding(char_ids), self.dropout, training=self.training)
        x = self.convolution(x.transpose(1, 2))  # (N, channels, L - w + 1)
        # max before ReLU: the same value (ReLU is monotone) for a tenth of the work.
        return torch.relu(x.amax(dim=-1))


class CharEmbedding(nn.Embedding):
    """Character vectors drawn from N(0, 0.1^2); the padding row is zero."""

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.1)
        if not getattr(self.weight, "_is_hf_initialized", False):
            self._fill_padding_idx_with_zero()
