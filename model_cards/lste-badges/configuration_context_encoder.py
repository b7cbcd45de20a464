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
        position: none, sinusoidal, learned or rotary; or an encoding of the time of each event: lste, bochner,
            bochner_sampled, mercer or time2vec, which read `timestamps`.
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
        kernel_gate: A learned kernel starts as dot products, exactly with p_norm 2: each head has a gate, 0 at the
            start, from the RBF kernel to its own; see `KernelAttention`.
        kl_lambda: weight of the divergence of the frequencies from their prior, in nats of one of their numbers.
        copula_lambda: weight of the term of the authors' copula.
        prior_scale: s0, standard deviation of the prior.
        noise_seed: seed of the noise with which frequencies are drawn in evaluation.
        num_eval_samples: sets of that noise; the kernel is their mean.
        kernel_period: P of expsin.
        kernel_length: l of expsin.
        qk_norm: of esa and hsa: queries and keys of each head are normalised.
        feature_map: of esa, see `feature_map` in ops_context_encoder_linear.
        importance: of esa, whether keys are weighed by their L^p norm: auto, with every feature map but elu.
        orthogonal: of esa, whether random features are drawn orthogonal.
        redraw_interval: of esa, passes in training after which random features are drawn anew; 0: never.
        chunk_size: of causal esa, queries that attend to each other by a matrix.
        feature_eps: of esa, added to the features of queries, and the smallest denominator.
        key_feature_eps: of esa, added to the features of keys.
        attention_mode: of esa: linear, or exact, which forms the matrix of weights.
        order_type: of hsa, how pairs of keys act; see `HigherOrderAttention`.
        num_higher_heads: of hsa, heads of higher order; the others are pairwise. None: all.
        max_exact_length: of trilinear and volume, the longest sequence whose pairs are all formed.
        pair_window: of trilinear and volume, how many last keys pairs consist of; None: all.
        distinct: of trilinear, volume and factorised, whether the keys of a pair differ.
        factorised_order: tokens that factorised attention joins, 2 to 4.
        factorised_features: its features: elu + 1, or the random ones of esa.
        anova_order: of anova, the highest order of its scores.
        context: of contextual, which tokens the context is gathered of: by a second attention, all of them, those at
            most `context_width` away, or those so far.
        context_width: of context="local".
        value_order: of contextual, 2 multiplies outputs by what the context gathers of second values.
        area_size: of area, tokens of the longest span.
        time_combine: how an encoding of time enters: its kernel added to the scores (kernel), or multiplied into the
            weights (multiply); or its features added to the steps (add), or side by side with them (concat).
        time_unit: what relative times are divided by, in the unit of the timestamps; the median gap of the training.
        row_time_unit: the median gap of each row instead; not where the config is causal.
        time_span: longest elapsed time of the training, in that unit; learned frequencies start by it.
        time_reference: from which event of a row times are measured: first or last.
        time_transform: log: sign(t) log(1 + |t|) of relative times; none.
        time_size: D, numbers of an encoding other than lste, which has two for each component and frequency.
        tied_frequencies: of bochner, one frequency for a sine and its cosine, so that gaps alone count.
        num_harmonics: J of mercer.
        num_components: A of lste, parts whose power varies over time in a way of its own.
        num_frequencies: M of each of them.
        behaviour_conditioned: lste depends on the events of the row: those up to each step where the config is causal.
        event_names: The names of the events 1..vocab_size - 1, in this order; None: they are called "1", "2" and so on.
        max_history: The last events of a history that `next_events` reads at most: as many as those of the training.
        feature_names: of the I numbers of a row of a regression; None: they have none.
        target_name: of what a regression predicts.
        feature_offsets, feature_scales: of the rows of a regression: it reads (value - offset) / scale; None: 0 and 1.
        target_offset, target_scale: of its target, likewise.
        num_context_rows: rows of the training that a regression keeps, and reads beside those that it predicts.
    """

    model_type = "ctxzoo_context_encoder"
    # They are no predictions: transformers' Trainer leaves them out of those that metrics are computed from.
    # A list, as transformers declares it.
    keys_to_ignore_at_inference = ["auxiliary_loss", "kl", "copula_term", "clamped", "state"]  # noqa: RUF012
    largest = MappingProxyType({"num_layers": 1000, "num_eval_samples": 1000})
    nominal_sizes = MappingProxyType({"vocab_size": 2})
    variants = MappingProxyType(
        {
            "dot": {"attention": "dot"},
            "ika": {"attention": "ika"},
            "ikan": {"attention": "ikan", "kernel": "direct", "p_norm": 1.8},
            "mikan": {"attention": "mikan", "p_norm": 1.8},
            "esa": {"attention": "esa"},
            "hsa": {"attention": "hsa"},
            "hsa-factorised": {"attention": "hsa", "order_type": "factorised"},
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
    position: Literal[
        "none", "sinusoidal", "learned", "rotary", "lste", "bochner", "bochner_sampled", "mercer", "time2vec"
    ] = "sinusoidal"
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
    kernel_gate: bool = False
    kl_lambda: float | int = 0.1
    copula_lambda: float | int = 1.0
    prior_scale: float | int = 0.1
    noise_seed: int = 0
    num_eval_samples: int = 1
    kernel_period: float | int = 1.0
    kernel_length: float | int = 1.0
    qk_norm: bool = True
    feature_map: Literal["favor", "hyperbolic", "elu", "relu", "learned", "trig"] = "favor"
    importance: Literal["auto", "norm", "none"] = "auto"
    orthogonal: bool = True
    redraw_interval: int = 0
    chunk_size: int = 64
    feature_eps: float | int = 1e-6
    key_feature_eps: float | int = 0.0
    attention_mode: Literal["linear", "exact"] = "linear"
    order_type: Literal["contextual", "trilinear", "volume", "factorised", "anova", "area", "context_aware"] = (
        "contextual"
    )
    num_higher_heads: int | None = None
    max_exact_length: int = 128
    pair_window: int | None = None
    distinct: bool = False
    factorised_order: int = 3
    factorised_features: Literal["elu", "favor"] = "elu"
    anova_order: int = 2
    context: Literal["attention", "global", "local", "causal"] = "attention"
    context_width: int = 1
    value_order: int = 1
    area_size: int = 3
    time_combine: Literal["kernel", "multiply", "add", "concat"] = "kernel"
    time_unit: float | int = 1.0
    row_time_unit: bool = False
    time_span: float | int = 100.0
    time_reference: Literal["first", "last"] = "first"
    time_transform: Literal["none", "log"] = "none"
    time_size: int = 64
    tied_frequencies: bool = True
    num_harmonics: int = 10
    num_components: int = 4
    num_frequencies: int = 16
    behaviour_conditioned: bool = True
    event_names: list[str] | None = None
    max_history: int = 100
    feature_names: list[str] | None = None
    target_name: str = "target"
    feature_offsets: list[float] | None = None
    feature_scales: list[float] | None = None
    target_offset: float | int = 0.0
    target_scale: float | int = 1.0
    num_context_rows: int = 0
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
    def reads_time(self) -> bool:
        """Whether the models read `timestamps`."""
        return self.position in ("lste", "bochner", "bochner_sampled", "mercer", "time2vec")

    def names(self) -> list[str]:
        """Return the names of the events 1..vocab_size - 1."""
        return self.event_names or [str(event) for event in range(1, self.vocab_size)]

    def name_of(self, row: int) -> str:
        """Return the name of the event in row 1..vocab_size - 1 of the table."""
        return str(row) if self.event_names is None else self.event_names[row - 1]

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

    def validate_time(self) -> None:
        """Check the clock of the encodings of time.

        Raises:
            ValueError: a unit, span or size that is not above 0, or an odd size of sines and cosines; times of a causal
                model measured by events that a step does not see, see `TimePosition`; scores of an attention that has
                none for pairs.
        """
        for name in ("time_unit", "time_span"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        self.check_counts("time_size", "num_harmonics", "num_components", "num_frequencies")
        if self.position in ("bochner", "bochner_sampled") and self.time_size % 2:
            raise ValueError(f"time_size {self.time_size} must be even with position={self.position!r}")
        if self.reads_time and self.causal:
            own = self.position == "lste" and self.time_combine in ("kernel", "multiply")
            if self.row_time_unit or (self.time_reference == "last" and not own):
                what = "row_time_unit=True" if self.row_time_unit else "time_reference='last'"
                raise ValueError(
                    f"{what} measures the times of a causal model by events that its steps do not see; expected "
                    "time_reference='first' and row_time_unit=False (position='lste' in scores takes 'last' too)"
                )

    def validate_events(self) -> None:
        """Check that every event has one name of its own, where they have names.

        Raises:
            ValueError: another number of names, an empty name, or one that two events have; no event to read.
        """
        self.check_counts("max_history")
        names = self.event_names
        if names is None:
            return
        if len(names) != self.vocab_size - 1:
            raise ValueError(f"event_names has {len(names)} names, but there are {self.vocab_size - 1} events")
        if not all(names):
            raise ValueError(f"event_names: event {names.index('') + 1} has an empty name")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"event_names: two events have the name {twice!r}; names must differ")

    def validate_rows(self) -> None:
        """Check what a regression knows of its rows.

        Raises:
            ValueError: another number of names, offsets or scales than `input_size`; a scale that is not above 0.
        """
        for name in ("feature_names", "feature_offsets", "feature_scales"):
            values = getattr(self, name)
            if values is not None and len(values) != self.input_size:
                raise ValueError(f"{name} has {len(values)} entries, but input_size is {self.input_size}")
        scales = [self.target_scale, *(self.feature_scales or [])]
        if not min(scales) > 0:
            raise ValueError(f"target_scale and feature_scales must be above 0, got {min(scales)}")
        if self.num_context_rows < 0:
            raise ValueError(f"num_context_rows must be 0 or above, got {self.num_context_rows}")

    def validate_rates(self) -> None:
        self.check_rates("dropout", "hidden_dropout", "attention_dropout", "magnitude_dropout")

    def validate_efficient(self) -> None:
        if self.attention != "esa":
            return
        self.check_counts("chunk_size")
        for name in ("redraw_interval", "feature_eps", "key_feature_eps"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}")
        if self.feature_map == "elu" and self.num_features not in (None, self.head_size):
            raise ValueError(
                f"num_features is {self.num_features}: feature_map='elu' has as many features as a head has numbers, "
                f"{self.head_size}; leave it out"
            )
        if self.redraw_interval and self.feature_map in ("elu", "learned"):
            raise ValueError(
                f"redraw_interval is {self.redraw_interval}: feature_map={self.feature_map!r} draws no features; set 0"
            )

    def validate_higher_order(self) -> None:
        """Check what attention of higher order consists of.

        Raises:
            ValueError: a number outside of what it may be, or random features of keys that are not normalised.
        """
        if self.attention != "hsa":
            return
        self.check_counts("max_exact_length", "anova_order", "area_size")
        ranges = {
            "num_higher_heads": (1, self.num_heads),
            "pair_window": (1, None),
            "factorised_order": (2, 4),
            "context_width": (0, None),
            "value_order": (1, 2),
        }
        for name, (least, most) in ranges.items():
            number = getattr(self, name)
            if number is not None and (number < least or (most is not None and number > most)):
                raise ValueError(f"{name} must be {least} {f'to {most}' if most else 'or above'}, got {number}")
        if self.order_type == "factorised" and self.factorised_features == "favor" and not self.qk_norm:
            raise ValueError("factorised_features='favor' needs qk_norm=True: keys of any size overflow it")

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
        if self.kernel_gate and self.attention not in ("ika", "ikan", "mikan"):
            raise ValueError(
                f"kernel_gate=True with attention={self.attention!r}, which learns no kernel; expected ika, ikan or "
                "mikan"
            )
        if self.attention == "mikan" and self.kernel == "direct":
            raise ValueError("kernel='direct' with attention='mikan', which draws its frequencies; set 'implicit'")
        if self.num_features is not None and self.num_features < 1:
            raise ValueError(f"num_features must be at least 1, got {self.num_features}")
        if self.attention in ("ika", "ikan", "mikan") and (self.num_features or 0) % 2:
            raise ValueError(
                f"num_features must be even with attention={self.attention!r}: one half of the frequencies mirrors the "
                f"other; got {self.num_features}"
            )
