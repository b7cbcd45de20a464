"""What the configurations of models that read the words of texts have in common."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from .configuration_base import ZooConfig


@strict
class TextConfig(ZooConfig):
    """The base of the configurations of models that read words.

    Words enter as vectors of a table, side by side with sinusoids of their positions: m = v + p numbers for each.

    Args:
        vocab_size: rows of the word table; 0 is padding.
        word_dim: v, width of the word vectors.
        position_dim: p, width of the sinusoids that are concatenated to them; 0 leaves positions out.
        freeze_embeddings: word vectors stay as they are drawn.
        embedding_seed: seed of frozen vectors, whose table follows from it and is not saved. None: the table is drawn
            like other weights, or given from outside, and saved.
        embedding_bound: word vectors are drawn from U(-bound, bound).
    """

    largest = MappingProxyType({"embedding_seed": 2**63 - 1})
    nominal_sizes = MappingProxyType({"vocab_size": 2})

    vocab_size: int = 10_000
    word_dim: int = 250
    position_dim: int = 20
    freeze_embeddings: bool = False
    embedding_seed: int | None = 0
    embedding_bound: float | int = 1.0
    pad_token_id: int = 0

    @property
    def hidden_size(self) -> int:
        """The width m = v + p of a token: its word vector and its position."""
        return self.word_dim + self.position_dim

    def validate_words(self) -> None:
        self.check_counts("vocab_size", "word_dim")
        if self.position_dim < 0 or self.position_dim % 2:
            raise ValueError(
                f"position_dim must be even (sines and cosines in pairs), 0 for no positions; got {self.position_dim}"
            )
        if self.embedding_bound <= 0:
            raise ValueError(f"embedding_bound must be above 0, got {self.embedding_bound}")

    def check_rates(self, *names: str) -> None:
        """Raise ValueError for a field, of those named, that is no rate of dropout."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")
