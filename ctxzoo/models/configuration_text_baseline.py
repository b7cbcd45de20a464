"""Configuration of the baselines for text classification."""

from dataclasses import field
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_text import TextConfig


@strict
class TextBaselineConfig(TextConfig):
    """What a new text classifier has to beat: words with positions, one way to make a vector of them, a linear layer.

    The fields of `TextConfig` come first.

    Args:
        encoder: mean; attention (K steps, one weight for each token); cnn (Kim 2014); bigru (maximum over the states);
            transformer (mean of the states).
        num_steps, rank, initial_context, eval_context: of attention: K, u, c^0, and c^0 at evaluation.
        kernel_sizes, num_filters: of cnn: words in a window of each group of filters, filters of each group.
        recurrent_size: of bigru: states of each direction.
        num_heads, num_layers: of transformer.
        dropout: on the tokens, and within the Transformer's layers.
        pooled_dropout: on the vector of the text.
    """

    model_type = "ctxzoo_text_baseline"

    encoder: Literal["mean", "attention", "cnn", "bigru", "transformer"] = "mean"
    num_steps: int = 5
    rank: int = 100
    initial_context: Literal["ones", "learned", "random"] = "random"
    eval_context: Literal["fixed", "redraw"] = "fixed"
    kernel_sizes: list[int] = field(default_factory=lambda: [3, 4, 5])
    num_filters: int = 100
    recurrent_size: int = 100
    num_heads: int = 6
    num_layers: int = 1
    dropout: float | int = 0.0
    pooled_dropout: float | int = 0.0

    @property
    def pooled_size(self) -> int:
        """d, width of the vector of a text."""
        return {"cnn": len(self.kernel_sizes) * self.num_filters, "bigru": 2 * self.recurrent_size}.get(
            self.encoder, self.hidden_size
        )

    def validate_sizes(self) -> None:
        self.check_counts("num_steps", "rank", "num_filters", "recurrent_size", "num_heads", "num_layers")
        if not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ValueError(f"kernel_sizes must hold numbers of words, at least 1, got {self.kernel_sizes}")

    def validate_heads(self) -> None:
        if self.encoder == "transformer" and self.hidden_size % self.num_heads:
            raise ValueError(
                f"word_dim + position_dim = {self.hidden_size} must be a multiple of num_heads = {self.num_heads}"
            )

    def validate_rates(self) -> None:
        self.check_rates("dropout", "pooled_dropout")


# Rates are the customary ones: Kim (2014) for cnn, Vaswani et al. (2017) for transformer.
VARIANTS: dict[str, dict[str, Any]] = {
    "mean": {},
    "attention": {"encoder": "attention"},
    "cnn": {"encoder": "cnn", "pooled_dropout": 0.5},
    "bigru": {"encoder": "bigru"},
    "transformer": {"encoder": "transformer", "dropout": 0.1},
}


def text_baseline_variant(
    name: str,
    *,
    vocab_size: int,
    word_embedding_size: int = 0,
    char_vocab_size: int = 0,
    **changes: Any,
) -> TextBaselineConfig:
    """The config of one of `VARIANTS` for a given vocabulary; `changes` override its fields.

    Raises:
        ValueError: unknown variant name; the message lists the known ones.
    """
    if name not in VARIANTS:
        raise ValueError(f"unknown baseline {name!r}; known: {', '.join(VARIANTS)}")
    return TextBaselineConfig(**{"vocab_size": vocab_size, **VARIANTS[name], **changes})
