"""What the configurations of the encoders have in common: sizes, positions, words or rows of numbers."""

from types import MappingProxyType
from typing import Any

from huggingface_hub.dataclasses import strict

from .configuration_base import ZooConfig

# Vectors of words start in U(-bound, bound), and the sinusoids of positions that are added to them have this amplitude,
# so that neither drowns the other.
EMBEDDING_BOUND = 0.1


@strict
class EncoderConfig(ZooConfig):
    """The base of the configurations of encoders: pre-norm blocks of attention over steps.

    Args:
        vocab_size: Size of the vocabulary of words or events, rows of their table; id 0 is padding.
        word_dim: Width v of the word vectors; where it is not `hidden_size`, a linear map brings them to it.
        hidden_size: Hidden size m.
        num_layers: Number of encoder blocks.
        num_heads: Number h of attention heads, a divisor of `hidden_size`.
        inner_size: Width of the hidden layer of a block's feed-forward network; 0: 4 times `hidden_size`.
        position: Position encoding: none; sinusoidal, added to the steps (Vaswani et al. 2017); rotary, which turns
            queries and keys (Su et al. 2021).
        causal: Whether each step attends to itself and earlier steps only.
        dropout: Dropout rate on the input steps.
        hidden_dropout: Dropout rate on the two terms that each block adds.
    """

    # They are no predictions: transformers' Trainer leaves them out of those that metrics are computed from.
    # A list, as transformers declares it.
    keys_to_ignore_at_inference = ["auxiliary_loss", "kl", "clamped", "state"]  # noqa: RUF012
    largest = MappingProxyType({"num_layers": 1000})
    nominal_sizes = MappingProxyType({"vocab_size": 2})

    vocab_size: int = 2
    word_dim: int = 128
    hidden_size: int = 128
    num_layers: int = 2
    num_heads: int = 4
    inner_size: int = 0
    position: str = "sinusoidal"
    causal: bool = False
    dropout: float | int = 0.0
    hidden_dropout: float | int = 0.0
    pad_token_id: int | None = 0

    @property
    def head_size(self) -> int:
        """The number d of features of a head."""
        return self.hidden_size // self.num_heads

    @property
    def inner_width(self) -> int:
        """The width of the hidden layer of a block's network."""
        return self.inner_size or 4 * self.hidden_size

    @property
    def step_dim(self) -> int:
        """The number of features of a step at the input."""
        return self.word_dim

    def validate_sizes(self) -> None:
        """Check widths and numbers of layers and heads, and that the heads divide the width."""
        self.check_at_least_one("word_dim", "hidden_size", "num_layers", "num_heads")
        if self.hidden_size % self.num_heads:
            raise ValueError(f"hidden_size {self.hidden_size} must be a multiple of num_heads = {self.num_heads}")
        self.check_not_negative("inner_size")

    def validate_words(self) -> None:
        """Check that there is at least one word."""
        self.check_at_least_one("vocab_size")

    def validate_position(self) -> None:
        """Check that the width which sines or rotations take in pairs is even."""
        if self.position == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(f"hidden_size {self.hidden_size} must be even with position='sinusoidal': sine and cosine")
        if self.position == "rotary" and self.head_size % 2:
            raise ValueError(
                f"hidden_size / num_heads = {self.head_size} must be even with position='rotary', which turns pairs"
            )

    def validate_rates(self) -> None:
        """Check the two dropout rates."""
        self.check_dropout_rates("dropout", "hidden_dropout")


@strict
class TextEncoderConfig(EncoderConfig):
    """The base of the configurations of encoders of texts, or of rows of numbers.

    Args:
        vocab_size: Size of the vocabulary, rows of the word table; 0: no table, models read `inputs_embeds` of
            `input_size` features.
        input_size: Number I of features of each step of `inputs_embeds`, where there are no words.
        label_threshold, unsure_below: Probabilities from which a label of several is predicted, and below which a
            prediction is unsure, as in `TextClassifierConfig`.
    """

    takes_several_labels = True

    vocab_size: int = 0
    input_size: int = 1
    label_threshold: float | None = None
    unsure_below: float | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Set no padding id where there is no table of words."""
        super().__post_init__(**kwargs)
        if not self.vocab_size and self.pad_token_id == 0:
            self.pad_token_id = None  # without a table transformers warns of a padding id

    @property
    def step_dim(self) -> int:
        """The number of features of a step at the input: those of a word, or `input_size`."""
        return self.word_dim if self.vocab_size else self.input_size

    def validate_words(self) -> None:
        """Check `input_size`, the width of rows of numbers, `vocab_size`, 0 for no words, and thresholds."""
        self.check_at_least_one("input_size")
        self.check_not_negative("vocab_size")
        self.check_probabilities("label_threshold", "unsure_below")
