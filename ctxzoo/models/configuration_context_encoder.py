"""The configuration of the ContextEncoder: which attention, which positions, and the sizes."""

from types import MappingProxyType
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_text import TextClassifierConfig


@strict
class ContextEncoderConfig(TextClassifierConfig):
    """Blocks of attention over words or over rows of numbers; attention is similarity times importance, and either is
    a choice.

    With `vocab_size` above 0 the models read words, and the fields of `TextClassifierConfig` say how; with 0 they read
    `inputs_embeds` of `input_size` numbers alone. `docs/models/context_encoder.md` has the kinds of attention.

    Args:
        vocab_size: rows of the word table; 0: there is none.
        word_dim: v, width of the word vectors; other than `hidden_size`, a linear map brings them to it.
        position_dim: 0; `position` says how positions are told.
        num_targets: numbers that a regression predicts of a step.
        input_size: I, numbers of a step of `inputs_embeds` where there are no words.
        hidden_size: m.
        num_layers: blocks.
        num_heads: h; m is a multiple of it.
        inner_size: width of the hidden layer of a block's network; 0: 4 m.
        attention: dot; rbf, linear and expsin (kernels that are given); ika (a learned kernel with L2 importance); ikan
            (a learned kernel with L^p importance); mikan (that, its heads joined by a copula); esa (linear in the
            length); hsa (pairs of keys).
        position: none, sinusoidal, learned or rotary.
        max_length: rows of the table of learned positions.
        causal: no step reads later ones.
        memory_length: keys of earlier steps that a state holds at most, for attention whose state grows; 0: all.
        dropout: rate of dropout on the steps as they enter.
        hidden_dropout: rate of dropout on what each block adds.
        attention_dropout: rate of dropout on the weights.
        kernel: of ika and ikan, whether frequencies are parameters (direct) or drawn from a density that a network
            gives (implicit). mikan is implicit.
        stationary: the kernel depends on q - k alone.
        p_norm: p of the importance of kernels other than ika, whose importance has 2.
        magnitude_scale: s of kernel and importance: sqrt(d) (derivation) or d^(1/4) (authors).
        magnitude_dropout: rate of dropout on the importance.
        magnitude_dropout_form: on the importance of keys (keys), or on the matrix of the sums of both (authors).
        num_features: M, frequencies of a learned kernel, or features of esa; None: 64, or as many as esa takes.
        copula: how the heads of mikan are joined.
        kl_lambda: weight of the divergence of the frequencies from their prior.
        copula_lambda: weight of the term of the authors' copula.
        prior_scale: s0, standard deviation of the prior.
        noise_seed: seed of the noise with which frequencies are drawn in evaluation.
        num_eval_samples: sets of that noise; the kernel is their mean.
        kernel_period: P of expsin.
        kernel_length: l of expsin.
    """

    model_type = "ctxzoo_context_encoder"
    # They are no predictions: transformers' Trainer leaves them out of those that metrics are computed from.
    # A list, as transformers declares it.
    keys_to_ignore_at_inference = ["auxiliary_loss", "kl", "copula_term", "state"]  # noqa: RUF012
    largest = MappingProxyType({"num_layers": 1000, "num_eval_samples": 1000})
    nominal_sizes = MappingProxyType({"vocab_size": 2})
    variants = MappingProxyType(
        {
            "dot": {"attention": "dot"},
            "ika": {"attention": "ika"},
            "ikan": {"attention": "ikan", "kernel": "direct", "p_norm": 1.8},
            "mikan": {"attention": "mikan", "p_norm": 1.8},
        }
    )

    vocab_size: int = 0
    word_dim: int = 128
    position_dim: int = 0
    embedding_bound: float | int = 0.1
    num_targets: int = 1
    input_size: int = 1
    hidden_size: int = 128
    num_layers: int = 2
    num_heads: int = 4
    inner_size: int = 0
    attention: Literal["dot", "rbf", "linear", "expsin", "ika", "ikan", "mikan", "esa", "hsa"] = "dot"
    position: Literal["none", "sinusoidal", "learned", "rotary"] = "sinusoidal"
    max_length: int = 512
    causal: bool = False
    memory_length: int = 0
    dropout: float | int = 0.0
    hidden_dropout: float | int = 0.0
    attention_dropout: float | int = 0.0
    kernel: Literal["direct", "implicit"] = "implicit"
    stationary: bool = False
    p_norm: float | int = 2.0
    magnitude_scale: Literal["derivation", "authors"] = "derivation"
    magnitude_dropout: float | int = 0.0
    magnitude_dropout_form: Literal["keys", "authors"] = "keys"
    num_features: int | None = None
    copula: Literal["gaussian", "authors"] = "gaussian"
    kl_lambda: float | int = 0.1
    copula_lambda: float | int = 1.0
    prior_scale: float | int = 0.1
    noise_seed: int = 0
    num_eval_samples: int = 1
    kernel_period: float | int = 1.0
    kernel_length: float | int = 1.0
    pad_token_id: int | None = 0  # type: ignore[assignment]  # None where there is no table

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if not self.vocab_size and self.pad_token_id == 0:
            self.pad_token_id = None  # without a table transformers warns of a padding id

    @property
    def head_size(self) -> int:
        """The numbers d of a head."""
        return self.hidden_size // self.num_heads

    @property
    def inner_width(self) -> int:
        """The width of the hidden layer of a block's network."""
        return self.inner_size or 4 * self.hidden_size

    @property
    def step_size(self) -> int:
        """The numbers of a step as it enters: those of a word, or `input_size`."""
        return self.word_dim if self.vocab_size else self.input_size

    @property
    def decides_beyond_attention(self) -> bool:
        return True  # every block adds what a step was before

    def validate_words(self) -> None:
        if self.vocab_size:
            super().validate_words()
        if self.position_dim:
            raise ValueError(f"position_dim must be 0, got {self.position_dim}; `position` says how positions are told")

    def validate_wide(self) -> None:
        if self.vocab_size or self.wide_buckets:
            super().validate_wide()

    def validate_sizes(self) -> None:
        self.check_counts(
            "num_targets", "input_size", "hidden_size", "num_layers", "num_heads", "max_length", "num_eval_samples"
        )
        if self.hidden_size % self.num_heads:
            raise ValueError(f"hidden_size {self.hidden_size} must be a multiple of num_heads = {self.num_heads}")
        for name, of_none in (("inner_size", "four times hidden_size"), ("memory_length", "all keys")):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 ({of_none}) or above, got {getattr(self, name)}")

    def validate_position(self) -> None:
        if self.position == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(f"hidden_size {self.hidden_size} must be even with position='sinusoidal': sine and cosine")
        if self.position == "rotary" and self.head_size % 2:
            raise ValueError(
                f"hidden_size / num_heads = {self.head_size} must be even with position='rotary', which turns pairs"
            )

    def validate_rates(self) -> None:
        self.check_rates("dropout", "hidden_dropout", "attention_dropout", "magnitude_dropout")

    def validate_kernel(self) -> None:
        """Check what a kernel and an importance are made of.

        Raises:
            ValueError: p_norm, a scale, a period or a length that is not above 0, a negative weight, no feature, or an
                odd number of frequencies, of which one half mirrors the other.
        """
        for name in ("p_norm", "prior_scale", "kernel_period", "kernel_length"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("kl_lambda", "copula_lambda", "noise_seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}")
        if self.attention == "mikan" and self.kernel == "direct":
            raise ValueError("kernel='direct' with attention='mikan', which draws its frequencies; set 'implicit'")
        if self.num_features is not None and self.num_features < 1:
            raise ValueError(f"num_features must be at least 1, got {self.num_features}")
        if self.attention in ("ika", "ikan", "mikan") and (self.num_features or 0) % 2:
            raise ValueError(
                f"num_features must be even with attention={self.attention!r}: one half of the frequencies mirrors the "
                f"other; got {self.num_features}"
            )
