"""The configuration of LAMA and its variants."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE
from .configuration_pretrained_encoder import PretrainedEncoderConfig
from .configuration_text import TextClassifierConfig


@strict
class LamaConfig(PretrainedEncoderConfig, TextClassifierConfig):
    """Low-rank multi-head attention over the states of a bidirectional GRU (Mehta et al. 2019).

    The defaults are the paper's. The fields of `TextClassifierConfig` and `PretrainedEncoderConfig` come first.

    Args:
        recurrent_size: Hidden size h of each direction; the states have D = 2h features.
        num_heads: Number m of attention heads.
        rank: Rank k of the bilinear form of each head.
        context: Context that words are compared with: "learned", one trained vector (the paper's LAMA);
            "mean_embedding", the mean of the document's word vectors (its LAMA+ctx); "mean_hidden", the mean of its
            states.
        projection_size: Number of rows of W_w, with which the attention reads words as tanh(W_w h + b_w); fewer than D
            make it a map of low rank [ours]; None: D, the paper's; 0: no map, words are the states h, as in (3.13).
        l2_normalize: Whether the m logits of each word are scaled to length 1.
        logit_scale: Factor of the logits after `l2_normalize` [ours].
        append_pooled: Whether the mean and the maximum of the states are appended to the heads' outputs [ours].
        ngram_buckets: Number of rows of the word table that belong to hashed n-grams, the last ones; the GRU does not
            read them, the mean of `linear_mean` does [ours].
        linear_mean: Whether the mean of all tokens is appended to the document's vector, with a linear term of it in
            the scores [ours].
        embedding_dropout: Dropout rate on the word vectors [ours].
        hidden_dropout: Dropout rate on the states [ours].
        classifier_size: Number of units of the classifier's hidden layer; 0: the classifier is linear.
        classifier_dropout: Dropout rate on the classifier's hidden layer.
    """

    model_type = "ctxzoo_lama"
    largest = MappingProxyType({"ngram_buckets": LARGEST_TABLE})
    # These are the rows of the paper's Table 3.
    variants = MappingProxyType({"lama": {}, "lama_ctx": {"context": "mean_embedding"}})
    nominal_sizes = MappingProxyType({"vocab_size": 2, "word_dim": 300})
    former_fields = MappingProxyType({"learn_logit_scale": False})

    word_dim: int = 100
    position_dim: int = 0
    embedding_bound: float | int = 0.1
    recurrent_size: int = 50
    num_heads: int = 15
    rank: int = 1
    context: Literal["learned", "mean_embedding", "mean_hidden"] = "learned"
    projection_size: int | None = None
    l2_normalize: bool = True
    logit_scale: float | int = 1.0
    append_pooled: bool = False
    ngram_buckets: int = 0
    linear_mean: bool = False
    embedding_dropout: float | int = 0.0
    hidden_dropout: float | int = 0.0
    classifier_size: int = 512
    classifier_dropout: float | int = 0.4

    @property
    def state_size(self) -> int:
        """The width D = 2h of a state of the GRU, both directions side by side."""
        return 2 * self.recurrent_size

    @property
    def document_vector_size(self) -> int:
        """The width of the vector of a document: m D, with `append_pooled` 2 D more, with `linear_mean` d more."""
        states = (self.num_heads + 2 * self.append_pooled) * self.state_size
        return states + self.linear_mean * self.hidden_size

    def validate_sizes(self) -> None:
        """Check the widths, the number of heads and the rank."""
        self.check_at_least_one("recurrent_size", "num_heads", "rank")
        self.check_not_negative("projection_size")
        if self.classifier_size < 0:
            raise ValueError(f"classifier_size must be 0 (linear) or more, got {self.classifier_size}")

    def validate_ngrams(self) -> None:
        """Check that rows for n-grams fit the table and that `linear_mean` reads them."""
        if not 0 <= self.ngram_buckets < self.vocab_size:
            raise ValueError(
                f"ngram_buckets must be at least 0 and below vocab_size = {self.vocab_size}, got {self.ngram_buckets}"
            )
        if self.ngram_buckets and self.wide_buckets:
            raise ValueError(
                f"ngram_buckets={self.ngram_buckets} and wide_buckets={self.wide_buckets}: they are read by the wide "
                "part or by linear_mean; set one of them to 0"
            )
        if self.ngram_buckets and not self.linear_mean:
            raise ValueError(f"ngram_buckets={self.ngram_buckets} needs linear_mean=True: nothing else reads n-grams")

    def validate_rates(self) -> None:
        """Check the three dropout rates."""
        self.check_dropout_rates("embedding_dropout", "hidden_dropout", "classifier_dropout")

    def validate_scale(self) -> None:
        """Check that the factor of the logits is above 0."""
        if self.logit_scale <= 0:
            raise ValueError(f"logit_scale must be above 0, got {self.logit_scale}")
