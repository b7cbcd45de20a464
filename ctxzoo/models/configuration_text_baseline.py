"""The configuration of the baselines for text classification."""

from dataclasses import field
from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_pretrained_encoder import PretrainedEncoderConfig
from .configuration_text import TextClassifierConfig


@strict
class TextBaselineConfig(PretrainedEncoderConfig, TextClassifierConfig):
    """What a new text classifier has to beat: words with positions, one way to make a vector of them, a classifier.

    The fields of `TextClassifierConfig` and `PretrainedEncoderConfig` come first.

    Args:
        encoder: Encoder: mean; attention (K steps, one weight for each token); cnn (Kim 2014); bigru (maximum over the
            states); transformer (mean of the states); self_attentive (several heads over a bidirectional GRU, Lin et
            al. 2017); bilinear_attention (one head over it, Mehta et al. 2019).
        num_steps, rank, eval_context: Settings of attention: number K of steps, rank u, and first context at
            evaluation; in training it is random.
        kernel_sizes, num_filters: Settings of cnn: words in the window of each group of filters, and number of filters
            in each group.
        recurrent_size: Hidden size of each direction of bigru, self_attentive and bilinear_attention.
        attention_size, attention_heads: Settings of self_attentive: rows of its matrices W_s1 (d_a) and W_s2 (number of
            heads).
        overlap_penalty: Weight lambda in the loss of the penalty on heads of self_attentive that look at the same
            words.
        num_heads, num_layers: Settings of transformer: heads of each layer, and number of layers.
        transformer_size: Width of transformer's layers, to which a linear map brings the tokens and at which positions
            are added (so position_dim is best 0); 0: the width of the tokens, without a map.
        dropout: Dropout rate on the tokens, and within the Transformer's layers.
        pooled_dropout: Dropout rate on the vector of the text.
        classifier_size: Number of units of the classifier's hidden layer (ReLU); 0: the classifier is linear.
        classifier_dropout: Dropout rate on the classifier's hidden layer.
    """

    model_type = "ctxzoo_text_baseline"
    former_fields = MappingProxyType({"initial_context": "random"})
    # Part of the loss, and no prediction: transformers' Trainer leaves it out of those that metrics are computed from.
    keys_to_ignore_at_inference = ["auxiliary_loss"]  # noqa: RUF012 (transformers declares it so)
    largest = MappingProxyType({"num_steps": 10_000, "num_layers": 1000, "kernel_sizes": 1000})
    # The rates of dropout are the customary ones, those of Kim (2014) for cnn and of Vaswani et al. (2017) for
    # transformer.
    variants = MappingProxyType(
        {
            "mean": {},
            "attention": {"encoder": "attention"},
            "cnn": {"encoder": "cnn", "pooled_dropout": 0.5},
            "bigru": {"encoder": "bigru"},
            "transformer": {"encoder": "transformer", "dropout": 0.1},
            "self_attentive": {"encoder": "self_attentive"},
            "bilinear_attention": {"encoder": "bilinear_attention"},
            "transformer_1024": {
                "encoder": "transformer",
                "transformer_size": 1024,
                "num_heads": 16,
                "position_dim": 0,
                "dropout": 0.1,
            },
        }
    )

    encoder: Literal["mean", "attention", "cnn", "bigru", "transformer", "self_attentive", "bilinear_attention"] = (
        "mean"
    )
    num_steps: int = 5
    rank: int = 100
    eval_context: Literal["fixed", "redraw"] = "fixed"
    kernel_sizes: list[int] = field(default_factory=lambda: [3, 4, 5])
    num_filters: int = 100
    recurrent_size: int = 100
    attention_size: int = 350
    attention_heads: int = 30
    overlap_penalty: float | int = 1.0
    num_heads: int = 6
    num_layers: int = 1
    transformer_size: int = 0
    dropout: float | int = 0.0
    pooled_dropout: float | int = 0.0
    classifier_size: int = 0
    classifier_dropout: float | int = 0.0

    @property
    def pooled_size(self) -> int:
        """The width d of the vector of a text."""
        states = 2 * self.recurrent_size
        return {
            "cnn": len(self.kernel_sizes) * self.num_filters,
            "bigru": states,
            "transformer": self.transformer_size or self.hidden_size,
            "self_attentive": self.attention_heads * states,
            "bilinear_attention": states,
        }.get(self.encoder, self.hidden_size)

    @property
    def penalises_overlap(self) -> bool:
        """Whether the loss holds a term for heads that look at the same words."""
        return self.encoder == "self_attentive" and self.overlap_penalty > 0

    def validate_sizes(self) -> None:
        """Check the widths, numbers and filter lengths of all encoders."""
        self.check_at_least_one("num_steps", "rank", "num_filters", "recurrent_size", "num_heads", "num_layers")
        self.check_at_least_one("attention_size", "attention_heads")
        if self.classifier_size < 0:
            raise ValueError(f"classifier_size must be at least 0 (a linear layer), got {self.classifier_size}")
        if self.transformer_size < 0 or self.transformer_size % 2:
            raise ValueError(
                "transformer_size must be even (sines and cosines in pairs), 0 for the width of the tokens; got "
                f"{self.transformer_size}"
            )
        if not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ValueError(f"kernel_sizes must hold numbers of words, at least 1, got {self.kernel_sizes}")

    def validate_heads(self) -> None:
        """Check that the heads of a Transformer divide its width."""
        if self.encoder == "transformer" and self.num_heads > 0 and self.pooled_size % self.num_heads:
            width = "transformer_size" if self.transformer_size else "word_dim + position_dim"
            raise ValueError(f"{width} = {self.pooled_size} must be a multiple of num_heads = {self.num_heads}")

    def validate_rates(self) -> None:
        """Check the three dropout rates and the penalty of overlap."""
        self.check_dropout_rates("dropout", "pooled_dropout", "classifier_dropout")
        self.check_not_negative("overlap_penalty")


# The variants that stand beside the Contextualizer on sentences; the others classify documents (Mehta et al. 2019).
SENTENCE_VARIANTS = ("mean", "attention", "cnn", "bigru", "transformer")
