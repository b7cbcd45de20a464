"""Learned encodings of continuous time (time_encoding.md, 1.2 and 1.3), and how they enter an encoder."""

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_inputs import to_float32_or_wider
from .ops_time_encoder import (
    LARGEST_THETA,
    MOST_LOG_ENVELOPE,
    LocalParameters,
    bochner_features,
    check_timestamps,
    lste_factors,
    lste_features,
    lste_kernel,
    mercer_features,
    relative_times,
    running_mean,
    scale_times,
    time2vec_features,
    time_scores,
)
from .ops_words import masked_mean

IN_SCORES, IN_VECTORS = ("kernel", "multiply"), ("add", "concat")
LARGEST_EXPONENT = 8.0  # of the frequencies of Xu et al.: 10^0 to 10^-8
LARGEST_ALPHA = 10.0  # per unit^2; beyond it an envelope is a peak whose gradient vanishes
LARGEST_OFFSET = 2.0  # of what behaviour adds to a parameter
LARGEST_ANGLE = 1e4
BEHAVIOUR_SIZE = 64  # units of the summary of a history


class TimeEncoding(nn.Module):
    """The base of encodings with one feature vector for each time.

    Attributes:
        size: Width D of a feature vector.
        kernel_scale: Factor of the inner product of feature vectors that makes the kernel about 1.
    """

    kernel_scale = 1.0

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def encode_times(self, tau: torch.Tensor) -> torch.Tensor:
        """Return the features phi (B, L, D) of relative times (B, L) float64."""
        raise NotImplementedError(f"{type(self).__name__} must define encode_times(tau)")


class BochnerTime(TimeEncoding):
    """Learned frequencies of sines and cosines (Xu et al. 2019): `bochner_features`.

    Args:
        size: Width D of a feature vector, even.
        tied: Whether a sine and its cosine have one frequency and one beta, so that the kernel depends on the gap
            alone; untied as in the authors' code.
    """

    def __init__(self, size: int, *, tied: bool = True) -> None:
        super().__init__(size)
        self.sine_exponents = nn.Parameter(torch.empty(size // 2))  # frequency 10^-a
        self.cosine_exponents = None if tied else nn.Parameter(torch.empty(size // 2))
        self.beta = nn.Parameter(torch.empty(size // 2 if tied else size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        start = torch.linspace(0, LARGEST_EXPONENT, self.size // 2)
        init.copy_(self.sine_exponents, start)
        if self.cosine_exponents is not None:
            init.copy_(self.cosine_exponents, start)
        init.ones_(self.beta)

    def encode_times(self, tau: torch.Tensor) -> torch.Tensor:
        """Return cosines and sines of the times at the learned frequencies."""
        sines = 10.0 ** -to_float32_or_wider(self.sine_exponents)
        if self.cosine_exponents is None:
            return bochner_features(tau, sines, sines, self.beta.repeat(2))  # the beta of a sine is that of its cosine
        return bochner_features(tau, sines, 10.0 ** -to_float32_or_wider(self.cosine_exponents), self.beta)


class SampledBochnerTime(TimeEncoding):
    """Frequencies drawn anew at each step of the training from a learned log-normal density (Xu et al. 2019).

    Evaluation takes evenly spaced quantiles of the density, so that it is deterministic.

    Args:
        size: Width D of a feature vector, even.
        span: Longest elapsed time, in units; initial frequencies lie between one turn in it and one turn in a unit.
    """

    def __init__(self, size: int, *, span: float) -> None:
        super().__init__(size)
        self.span = span
        self.mean = nn.Parameter(torch.empty(1))
        self.log_deviation = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        low, high = log_frequency_range(self.span)
        init.constant_(self.mean, (low + high) / 2)
        init.constant_(self.log_deviation, math.log(max((high - low) / 4, 1e-2)))

    def encode_times(self, tau: torch.Tensor) -> torch.Tensor:
        """Return cosines and sines of the times at frequencies drawn from a learned log-normal.

        Outside training the frequencies are fixed quantiles of it.
        """
        number = self.size // 2
        if self.training:
            noise = torch.randn(number, device=tau.device)
        else:
            levels = (torch.arange(number, device=tau.device) + 0.5) / number
            noise = math.sqrt(2) * torch.erfinv(2 * levels - 1)  # normal quantiles of the levels
        frequencies = (
            to_float32_or_wider(self.mean) + to_float32_or_wider(self.log_deviation).exp() * noise
        ).exp()  # (D/2,)
        return bochner_features(tau, frequencies, frequencies, frequencies.new_ones(self.size))


class MercerTime(TimeEncoding):
    """Truncated Fourier series of several periods (Xu et al. 2019): `mercer_features`.

    Args:
        size: Number D of periods.
        harmonics: Number J of harmonics.
    """

    def __init__(self, size: int, *, harmonics: int = 10) -> None:
        super().__init__(size)
        self.kernel_scale = 1 / size
        self.exponents = nn.Parameter(torch.empty(size))  # period 10^p
        self.weights = nn.Parameter(torch.empty(size, 2 * harmonics))
        self.bias = nn.Parameter(torch.empty(size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.copy_(self.exponents, torch.linspace(0, LARGEST_EXPONENT, self.size))
        init.xavier_uniform_(self.weights)
        init.zeros_(self.bias)

    def encode_times(self, tau: torch.Tensor) -> torch.Tensor:
        """Return weighted Fourier series of the times, one for each base frequency."""
        return mercer_features(tau, 10.0 ** to_float32_or_wider(self.exponents), self.weights, self.bias)


class Time2VecTime(TimeEncoding):
    """One linear term and sines with learned frequency and phase (Kazemi et al. 2019): `time2vec_features`.

    Args:
        size: Width D of a feature vector.
        span: Longest elapsed time, in units, at which the linear term starts with the value 1.
    """

    def __init__(self, size: int, *, span: float) -> None:
        super().__init__(size)
        self.kernel_scale = 1 / size
        self.span = span
        self.frequencies = nn.Parameter(torch.empty(size))
        self.phases = nn.Parameter(torch.empty(size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        low, high = log_frequency_range(self.span)
        start = torch.linspace(low, high, self.size).exp()
        start[0] = 1 / self.span
        init.copy_(self.frequencies, start)
        init.uniform_(self.phases, -math.pi, math.pi)
        if not getattr(self.phases, "_is_hf_initialized", False):
            with torch.no_grad():
                self.phases[0] = 0

    def encode_times(self, tau: torch.Tensor) -> torch.Tensor:
        """Return the Time2Vec features: one linear in time, the others sines."""
        return time2vec_features(tau, self.frequencies, self.phases)


class LocallyStationaryTime(TimeEncoding):
    """LSTE: a mixture of locally stationary kernels, which the user's own behaviour may set (1.3 and 1.4).

    alpha = softplus, at most 10; gamma = 5 tanh / span, so that the envelope of a whole history stays within its clip;
    c in spans; w a softmax over components and frequencies; omega = exp, and where angles are float32, at most 10^4 in
    a span. All are float32 at least. Behaviour adds offsets of at most 2 to each of these before they are mapped, and
    factors of exp(2) at most to the frequencies of a component.

    Args:
        num_components: Number of components A.
        num_frequencies: Number M of frequencies of each component.
        span: Longest elapsed time, in units; components start evenly over it, frequencies between one turn in it and
            one turn in a unit.
        backwards: Whether times are measured from the last event, so that they are at most 0.
        behaviour_size: Width E of the event vectors that summaries of behaviour are made of; None: one kernel for all
            users.
    """

    def __init__(
        self,
        num_components: int = 4,
        num_frequencies: int = 16,
        *,
        span: float,
        backwards: bool = False,
        behaviour_size: int | None = None,
    ) -> None:
        super().__init__(2 * num_components * num_frequencies)
        self.span = span
        self.backwards = backwards
        # Beyond that the products of times and frequencies lose their phase in float32.
        self.exact_angles = 2 * math.pi * span * math.exp(LARGEST_OFFSET) > LARGEST_ANGLE
        self.alpha = nn.Parameter(torch.empty(num_components))
        self.gamma = nn.Parameter(torch.empty(num_components))
        self.centre = nn.Parameter(torch.empty(num_components))
        self.log_frequencies = nn.Parameter(torch.empty(num_components, num_frequencies))
        self.logits = nn.Parameter(torch.empty(num_components, num_frequencies))
        self.behaviour = None if behaviour_size is None else BehaviourOffsets(behaviour_size, num_components)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        number = len(self.alpha)
        # Envelopes whose standard deviation is the distance of their centres, span / A.
        start = min((number / self.span) ** 2, 1.0)
        init.constant_(self.alpha, math.log(math.expm1(start)))  # softplus of it is start
        init.zeros_(self.gamma)
        centres = (torch.arange(number) + 0.5) / number
        init.copy_(self.centre, -centres if self.backwards else centres)
        low, high = log_frequency_range(self.span)
        init.copy_(self.log_frequencies, torch.linspace(low, high, self.logits.size(1)).repeat(number, 1))
        init.zeros_(self.logits)

    def local_parameters(self, summary: torch.Tensor | None = None) -> LocalParameters:
        """Return the parameters of the kernel: one set for all, or one for each summary (..., E) of behaviour."""
        alpha, gamma, centre = (to_float32_or_wider(x) for x in (self.alpha, self.gamma, self.centre))
        log_frequencies, logits = to_float32_or_wider(self.log_frequencies), to_float32_or_wider(self.logits)
        if summary is not None and self.behaviour is not None:
            # One offset for each of five parameters, (..., 5, A).
            offsets = to_float32_or_wider(self.behaviour(summary.to(self.alpha.dtype)).unflatten(-1, (5, -1)))
            alpha, gamma, centre = (x + offsets[..., place, :] for place, x in enumerate((alpha, gamma, centre)))
            log_frequencies = log_frequencies + offsets[..., 3, :, None]  # (..., A, M)
            logits = logits + offsets[..., 4, :, None]
        frequencies = log_frequencies.exp()
        if not self.exact_angles:
            frequencies = frequencies.clamp(max=LARGEST_ANGLE / self.span)
        return LocalParameters(
            alpha=F.softplus(alpha).clamp(max=LARGEST_ALPHA),
            gamma=MOST_LOG_ENVELOPE / self.span * torch.tanh(gamma),
            centre=self.span * centre,
            frequencies=frequencies,
            weights=logits.flatten(-2).softmax(dim=-1).view_as(logits),  # one softmax over A and M
        )

    def encode_times(self, tau: torch.Tensor, summary: torch.Tensor | None = None) -> torch.Tensor:
        """Return features (B, L, 2 A M) of times (B, L); summaries are (B, 1, E) of rows or (B, L, E) of events."""
        return lste_features(tau, self.local_parameters(summary))


class BehaviourOffsets(nn.Module):
    """Offsets of the five parameters of each component from the summary of a user's history; 0 at the start.

    Args:
        size: Width E of a summary.
        num_components: Number of components A.
    """

    def __init__(self, size: int, num_components: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, BEHAVIOUR_SIZE)
        self.heads = make_linear(BEHAVIOUR_SIZE, 5 * num_components, init.zeros_)

    def forward(self, summary: torch.Tensor) -> torch.Tensor:
        """Return offsets (..., 5 A), from -2 to 2, of the parameters of each component, from summaries (..., E)."""
        return LARGEST_OFFSET * torch.tanh(self.heads(torch.tanh(self.hidden(summary))))


def log_frequency_range(span: float) -> tuple[float, float]:
    """Return the logarithms of two frequencies, one turn in the whole span and one in a unit, the lower first."""
    low, high = sorted((math.log(2 * math.pi / span), math.log(2 * math.pi)))
    return low, high


class TimePosition(nn.Module):
    """Reads timestamps once, before the first layer.

    Args:
        encoding: Encoding of the events' times.
        combine: Where the encoding enters: "kernel" or "multiply", a kernel K for the scores of every layer, see
            `TimeWeight`; "add", vector + Linear(phi); "concat", Linear([vector; phi]).
        hidden_size: Width E of an event vector.
        unit: Unit of relative times tau, above 0, in the unit of the timestamps.
        reference: Event from which tau is measured, "first" or "last". In a causal encoder "last" is the last event
            that each position sees, which is possible only for kernels of LSTE in scores.
        transform: Transform of relative times, "none" or "log", see `scale_times`.
        causal: Whether each position sees no later events.

    Raises:
        ValueError: a causal encoder whose times would be measured from an event that a position does not see.
    """

    def __init__(
        self,
        encoding: TimeEncoding,
        *,
        combine: str,
        hidden_size: int,
        unit: float,
        reference: str = "first",
        transform: str = "none",
        causal: bool,
    ) -> None:
        super().__init__()
        self.encoding = encoding
        if causal and reference == "last" and (self.local_encoding is None or combine in IN_VECTORS):
            raise ValueError(
                "reference='last' measures the times of a causal encoder by events that its positions do not see; "
                "expected reference='first' (LSTE with combine='kernel' takes 'last' too)"
            )
        self.combine = combine
        self.unit, self.reference, self.transform = unit, reference, transform
        self.causal = causal
        width = {"add": encoding.size, "concat": encoding.size + hidden_size}.get(combine)
        self.projection = None if width is None else nn.Linear(width, hidden_size)

    def forward(
        self, vectors: torch.Tensor, timestamps: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the vectors that the first layer reads; and a kernel K (B, L, L), queries by keys, for all layers.

        K is None where times enter the vectors.

        Args:
            vectors: (B, L, E) vectors of the events.
            timestamps: (B, L) times of the events, float64 or integers; values at padding are ignored.
            mask: (B, L) booleans, True at events.

        Raises:
            ValueError: see `check_timestamps`; in a causal encoder the times of a row must not fall.
        """
        times = check_timestamps(timestamps, mask, ordered=self.causal)
        with torch.autocast(vectors.device.type, enabled=False):
            summary = self._summarise_behaviour(vectors, mask)
            if self.projection is None and self.local_encoding is not None and self.causal:
                tau, sigma = self._compute_relative_pair_times(times, mask)
                # With behaviour each query has parameters of its own, (B, L, 1, .), which hold for all its keys.
                parameters = self.local_encoding.local_parameters(None if summary is None else summary.unsqueeze(2))
                return vectors, lste_kernel(tau, sigma, parameters, exact=self.local_encoding.exact_angles)
            tau = relative_times(times, mask, self.unit, self.reference, self.transform)
            features = self._encode_times(tau, summary)
            if self.projection is None:
                features = self.encoding.kernel_scale**0.5 * features  # a root, since it enters twice
                return vectors, features @ features.transpose(1, 2)  # (B, L, L)
        features = features.to(vectors.dtype)
        if self.combine == "add":
            return vectors + self.projection(features), None
        return self.projection(torch.cat([vectors, features], dim=-1)), None

    @property
    def local_encoding(self) -> LocallyStationaryTime | None:
        """The encoding of time if it is LSTE, else None."""
        return self.encoding if isinstance(self.encoding, LocallyStationaryTime) else None

    def compute_kernel_factors(
        self, vectors: torch.Tensor, timestamps: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the kernel K (B, L, L) of time position LSTE and factors K1, K2 (B, L, L, A), to inspect or plot.

        K tells how much the event at one time weighs for that at another; rows are queries. Unlike in a causal
        `forward`, each row's whole history counts.

        Args:
            vectors, timestamps, mask: Event vectors, timestamps and mask, as in `forward`.

        Raises:
            ValueError: an encoding without such factors; see also `check_timestamps`.
        """
        if self.local_encoding is None:
            raise ValueError(f"a {type(self.encoding).__name__} has no factors K1 and K2; expected position='lste'")
        times = check_timestamps(timestamps, mask, ordered=False)
        tau = relative_times(times, mask, self.unit, self.reference, self.transform)
        summary = self._summarise_whole_history(vectors, mask)
        parameters = self.local_encoding.local_parameters(None if summary is None else summary.unsqueeze(2))
        tau, sigma = tau.unsqueeze(2), tau.unsqueeze(1)  # (B, L, 1), (B, 1, L)
        power, gaps = lste_factors(tau, sigma, parameters)
        return lste_kernel(tau, sigma, parameters), power, gaps

    def _compute_relative_pair_times(
        self, times: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return relative times of queries and keys, of shapes that broadcast to (B, L, L)."""
        if self.reference == "last":
            # Measured from the event of the query, the last that it sees: its own time is 0, that of earlier keys less.
            elapsed = times.unsqueeze(1) - times.unsqueeze(2)  # (B, L, L)
            return torch.zeros_like(elapsed), scale_times(elapsed, self.unit, self.transform)
        tau = relative_times(times, mask, self.unit, "first", self.transform)
        return tau.unsqueeze(2), tau.unsqueeze(1)

    def _summarise_behaviour(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor | None:
        """Return means of event vectors, (B, 1, E) of rows or, if causal, (B, L, E) up to each position; or None."""
        if self.causal and self.local_encoding is not None and self.local_encoding.behaviour is not None:
            return running_mean(vectors, mask)
        return self._summarise_whole_history(vectors, mask)

    def _summarise_whole_history(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor | None:
        """Return the mean vector of each whole history, (B, 1, E), or None where the encoding reads no vectors."""
        if self.local_encoding is None or self.local_encoding.behaviour is None:
            return None
        return masked_mean(vectors, mask)[0].unsqueeze(1)  # (B, 1, E)

    def _encode_times(self, tau: torch.Tensor, summary: torch.Tensor | None) -> torch.Tensor:
        """Return the features of relative times `tau` (B, L); `summary` is the mean of each history, for LSTE alone."""
        return (
            self.encoding.encode_times(tau)
            if self.local_encoding is None
            else self.local_encoding.encode_times(tau, summary)
        )


class TimeWeight(nn.Module):
    """What a time kernel adds to the scores of one layer: theta K, theta = softplus, 1 at the start and 20 at most.

    Args:
        num_heads: Number h of heads, each with a weight theta.
        combine: How the kernel enters the scores, "kernel" or "multiply", see `time_scores`.
    """

    def __init__(self, num_heads: int, combine: str) -> None:
        super().__init__()
        self.combine = combine
        self.weight = nn.Parameter(torch.empty(num_heads)) if combine == "kernel" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.constant_(self.weight, 0.5413248546129181)  # softplus of it is 1

    def head_weights(self) -> torch.Tensor:
        """Return the learned weight of the time kernel in each head, (h,)."""
        assert self.weight is not None
        return F.softplus(to_float32_or_wider(self.weight)).clamp(max=LARGEST_THETA)

    def forward(self, kernel: torch.Tensor) -> torch.Tensor:
        """Return what a time kernel (B, Q, K) adds to the attention scores, (B, h or 1, Q, K) in nats."""
        theta = kernel.new_ones(1) if self.weight is None else self.head_weights()
        return time_scores(kernel, theta, self.combine)


def build_time_encoding(config: Any) -> TimeEncoding:
    """Return the encoding of time of a `TimeEncoderConfig`, whose `position` is one."""
    span = math.log1p(config.time_span) if config.time_transform == "log" else float(config.time_span)
    if config.position in ("bochner", "bochner_untied"):
        return BochnerTime(config.time_size, tied=config.position == "bochner")
    if config.position == "bochner_sampled":
        return SampledBochnerTime(config.time_size, span=span)
    if config.position == "mercer":
        return MercerTime(config.time_size, harmonics=config.num_harmonics)
    if config.position == "time2vec":
        return Time2VecTime(config.time_size, span=span)
    return LocallyStationaryTime(
        config.num_components,
        config.num_frequencies,
        span=span,
        backwards=config.time_reference == "last",
        behaviour_size=config.hidden_size if config.behaviour_conditioned else None,
    )
