"""The configuration of word embeddings: CBOW with attention and its relatives."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import ZooConfig

InputGradient = Literal["exact", "word2vec"]  # of cbow, in training


@strict
class WordEmbeddingConfig(ZooConfig):
    """Word embeddings that predict a word from the words around it (Ling et al., EMNLP 2015).

    The defaults are the paper's.

    Args:
        vocab_size: Size V of the vocabulary with the special tokens, rows of every word table.
        num_special_tokens: Number of first ids that belong to special tokens such as padding and mask: their vectors
            are 0, and they are neither context nor predicted.
        word_dim: Width d of a word vector.
        window: Number b of context positions on each side: -b to -1 and 1 to b.
        architecture: Architecture: attention_cbow (the paper's), cbow, skip_gram, structured_skip_gram, cwindow, or
            positional_cbow (Mikolov et al. 2018) [ours].
        word_logits: Whether attention_cbow has the logits K, one for each word at each position.
        position_logits: Whether attention_cbow has the logits s, one for each position.
        logit_rank: Rank of the logits K of attention_cbow: 0, a full table (V, 2b); r above 0, K = A B with A (V, r)
            and B (r, 2b) [ours].
    """

    model_type = "ctxzoo_word_embedding"
    largest = MappingProxyType({"window": 1000})

    vocab_size: int = 10_000
    num_special_tokens: int = 2
    word_dim: int = 50
    window: int = 20
    architecture: Literal[
        "cbow", "attention_cbow", "skip_gram", "structured_skip_gram", "cwindow", "positional_cbow"
    ] = "attention_cbow"
    word_logits: bool = True
    position_logits: bool = True
    logit_rank: int = 0
    pad_token_id: int = 0

    @property
    def hidden_size(self) -> int:
        """The width d of a word vector."""
        return self.word_dim

    @property
    def num_positions(self) -> int:
        """The number 2b of positions in a window; position i has column i + b before the centre, i + b - 1 after it."""
        return 2 * self.window

    @property
    def predicts_from_each_word(self) -> bool:
        """Whether every context word predicts the centre by itself, as in skip-gram."""
        return self.architecture in ("skip_gram", "structured_skip_gram")

    @property
    def keeps_positions_apart(self) -> bool:
        """Whether the output vectors tell positions apart: the context is then 2b vectors side by side."""
        return self.architecture in ("cwindow", "structured_skip_gram")

    @property
    def context_size(self) -> int:
        """The width of the vector of a context: d, or 2b d if positions are kept apart."""
        return self.num_positions * self.word_dim if self.keeps_positions_apart else self.word_dim

    def validate_sizes(self) -> None:
        """Check the widths and that words remain beside the special tokens."""
        self.check_at_least_one("word_dim", "window", "num_special_tokens")
        if self.vocab_size <= self.num_special_tokens:
            raise ValueError(
                f"vocab_size must be above num_special_tokens = {self.num_special_tokens}, one row for each word more; "
                f"got {self.vocab_size}"
            )

    def validate_attention(self) -> None:
        """Check that the fields of attention, K and b, fit the architecture."""
        if self.architecture == "attention_cbow" and not (self.word_logits or self.position_logits):
            raise ValueError(
                "attention_cbow with word_logits=False and position_logits=False has no attention; take "
                "architecture='cbow'"
            )
        if self.logit_rank < 0:
            raise ValueError(f"logit_rank must be 0 (K is a full table) or more, got {self.logit_rank}")
        if self.logit_rank and not (self.architecture == "attention_cbow" and self.word_logits):
            raise ValueError(
                f"logit_rank={self.logit_rank} belongs to K, which architecture={self.architecture!r} with "
                f"word_logits={self.word_logits} does not have; set it to 0"
            )
