"""The configuration of LAMA and its variants."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE
from .configuration_text import TextClassifierConfig


@strict
class LamaConfig(TextClassifierConfig):
    """Low-rank multi-head attention over the states of a bidirectional GRU (Mehta et al. 2019).

    The defaults are the paper's. The fields of `TextClassifierConfig` come first.

    Args:
        recurrent_size: h, states of each direction; D = 2h.
        num_heads: m, number of heads.
        rank: Rank k of each head's bilinear form.
        context: What words are compared with: one trained vector (learned, the paper's LAMA), the mean of the
            document's word vectors (mean_embedding, its LAMA+ctx), or the mean of its states (mean_hidden).
        word_projection: The attention reads words as tanh(W_w h + b_w); False: as the states h, as (3.13) has it.
        l2_normalize: The m logits of a word are scaled to length 1.
        logit_scale: Factor of the logits after `l2_normalize` [ours].
        append_pooled: The mean and the maximum of the states stand behind the heads [ours].
        ngram_buckets: Number of the last rows of the word table that belong to hashed n-grams, which the GRU does not
            read; they count in the mean of `linear_mean` [ours].
        linear_mean: The mean of all tokens stands at the end of a document's vector, and the scores have a term that is
            linear in it [ours].
        embedding_dropout: Rate of dropout on the words [ours].
        hidden_dropout: Rate of dropout on the states [ours].
        classifier_size: Units of the classifier's hidden layer; 0: the classifier is linear.
        classifier_dropout: Rate of dropout on the units of the classifier's hidden layer.
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
    word_projection: bool = True
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
    def document_size(self) -> int:
        """The width of the vector of a document: m D, with `append_pooled` 2 D more, with `linear_mean` d more."""
        states = (self.num_heads + 2 * self.append_pooled) * self.state_size
        return states + self.linear_mean * self.hidden_size

    def validate_sizes(self) -> None:
        self.check_counts("recurrent_size", "num_heads", "rank")
        if self.classifier_size < 0:
            raise ValueError(f"classifier_size must be 0 (linear) or more, got {self.classifier_size}")

    def validate_ngrams(self) -> None:
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
        self.check_rates("embedding_dropout", "hidden_dropout", "classifier_dropout")

    def validate_scale(self) -> None:
        if self.logit_scale <= 0:
            raise ValueError(f"logit_scale must be above 0, got {self.logit_scale}")
