"""Learned encodings of continuous time (time_encoding.md, 1.2 and 1.3)."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_context_encoder_kernels import at_least_single
from .ops_context_encoder_time import (
    MOST_LOG_ENVELOPE,
    LocalParameters,
    bochner_features,
    lste_features,
    mercer_features,
    time2vec_features,
)

LARGEST_EXPONENT = 8.0  # of the frequencies of Xu et al.: 10^0 to 10^-8
LARGEST_ALPHA = 10.0  # per unit^2; beyond it an envelope is a peak whose gradient vanishes
LARGEST_OFFSET = 2.0  # of what behaviour adds to a parameter
LARGEST_ANGLE = 1e4
BEHAVIOUR_SIZE = 64  # units of the summary of a history


class TimeEncoding(nn.Module):
    """The base of encodings with one feature vector for each time.

    Attributes:
        size: D, numbers of a feature vector.
        kernel_scale: factor of the inner product as a kernel, so that it is of the size of 1.
    """

    kernel_scale = 1.0

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def features(self, tau: torch.Tensor) -> torch.Tensor:
        """Return phi (B, L, D) of relative times (B, L) float64."""
        raise NotImplementedError(f"{type(self).__name__} must define features(tau)")


class BochnerTime(TimeEncoding):
    """Learned frequencies of sines and cosines (Xu et al. 2019): `bochner_features`.

    Args:
        size: D, even.
        tied: one frequency and one beta for a sine and its cosine, so that the kernel is one of the gap alone; untied
            as in the authors' code.
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

    def features(self, tau: torch.Tensor) -> torch.Tensor:
        sines = 10.0 ** -at_least_single(self.sine_exponents)
        if self.cosine_exponents is None:
            return bochner_features(tau, sines, sines, self.beta.repeat(2))
        return bochner_features(tau, sines, 10.0 ** -at_least_single(self.cosine_exponents), self.beta)


class SampledBochnerTime(TimeEncoding):
    """Frequencies drawn anew at each step of the training from a learned log-normal density (Xu et al. 2019).

    Evaluation takes evenly spaced quantiles of the density, so that it is deterministic.

    Args:
        size: D, even.
        span: longest elapsed time, in units; frequencies start between one turn of it and one turn of a unit.
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

    def features(self, tau: torch.Tensor) -> torch.Tensor:
        number = self.size // 2
        if self.training:
            noise = torch.randn(number, device=tau.device)
        else:
            levels = (torch.arange(number, device=tau.device) + 0.5) / number
            noise = math.sqrt(2) * torch.erfinv(2 * levels - 1)
        frequencies = (at_least_single(self.mean) + at_least_single(self.log_deviation).exp() * noise).exp()
        return bochner_features(tau, frequencies, frequencies, frequencies.new_ones(self.size))


class MercerTime(TimeEncoding):
    """Truncated Fourier series of several periods (Xu et al. 2019): `mercer_features`.

    Args:
        size: D periods.
        harmonics: J.
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

    def features(self, tau: torch.Tensor) -> torch.Tensor:
        return mercer_features(tau, 10.0 ** at_least_single(self.exponents), self.weights, self.bias)


class Time2VecTime(TimeEncoding):
    """One linear term and sines with learned frequency and phase (Kazemi et al. 2019): `time2vec_features`.

    Args:
        size: D.
        span: longest elapsed time, in units: the linear term starts at 1 for it.
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

    def features(self, tau: torch.Tensor) -> torch.Tensor:
        return time2vec_features(tau, self.frequencies, self.phases)


class LocallyStationaryTime(TimeEncoding):
    """LSTE: a mixture of locally stationary kernels, which the user's own behaviour may set (1.3 and 1.4).

    alpha = softplus, at most 10; gamma = 5 tanh / span, so that the envelope of a whole history stays within its clip;
    c in spans; w a softmax over components and frequencies; omega = exp, and where angles are float32, at most 10^4 in
    a span. All are float32 at least. Behaviour adds offsets of at most 2 to each of these before they are mapped, and
    factors of exp(2) at most to the frequencies of a component.

    Args:
        num_components: A.
        num_frequencies: M of each.
        span: longest elapsed time, in units. Components start evenly over it, frequencies between one turn of it and
            one turn of a unit.
        backwards: whether times are measured from the last event, so that they are at most 0.
        behaviour_size: E, numbers of an event's vector that summaries of behaviour are made of; None: one kernel for
            all users.
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
        start = min((number / self.span) ** 2, 1.0)
        init.constant_(self.alpha, math.log(math.expm1(start)))
        init.zeros_(self.gamma)
        centres = (torch.arange(number) + 0.5) / number
        init.copy_(self.centre, -centres if self.backwards else centres)
        low, high = log_frequency_range(self.span)
        init.copy_(self.log_frequencies, torch.linspace(low, high, self.logits.size(1)).repeat(number, 1))
        init.zeros_(self.logits)

    def local_parameters(self, summary: torch.Tensor | None = None) -> LocalParameters:
        """Return the parameters: one set, or, with offsets from behaviour, one for each summary (..., E)."""
        alpha, gamma, centre = (at_least_single(x) for x in (self.alpha, self.gamma, self.centre))
        log_frequencies, logits = at_least_single(self.log_frequencies), at_least_single(self.logits)
        if summary is not None and self.behaviour is not None:
            of_user = at_least_single(self.behaviour(summary.to(self.alpha.dtype)).unflatten(-1, (5, -1)))
            alpha, gamma, centre = (x + of_user[..., place, :] for place, x in enumerate((alpha, gamma, centre)))
            log_frequencies = log_frequencies + of_user[..., 3, :, None]
            logits = logits + of_user[..., 4, :, None]
        frequencies = log_frequencies.exp()
        if not self.exact_angles:
            frequencies = frequencies.clamp(max=LARGEST_ANGLE / self.span)
        return LocalParameters(
            alpha=F.softplus(alpha).clamp(max=LARGEST_ALPHA),
            gamma=MOST_LOG_ENVELOPE / self.span * torch.tanh(gamma),
            centre=self.span * centre,
            frequencies=frequencies,
            weights=logits.flatten(-2).softmax(dim=-1).view_as(logits),
        )

    def features(self, tau: torch.Tensor, summary: torch.Tensor | None = None) -> torch.Tensor:
        """Return phi (B, L, 2 A M) of relative times (B, L), with summaries of rows (B, 1, E) or events (B, L, E)."""
        return lste_features(tau, self.local_parameters(summary))


class BehaviourOffsets(nn.Module):
    """Offsets of the five parameters of each component from the summary of a user's history; 0 at the start.

    Args:
        size: E, numbers of a summary.
        num_components: A.
    """

    def __init__(self, size: int, num_components: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, BEHAVIOUR_SIZE)
        self.heads = make_linear(BEHAVIOUR_SIZE, 5 * num_components, init.zeros_)

    def forward(self, summary: torch.Tensor) -> torch.Tensor:
        """Return (..., 5 A) in [-2, 2], parameter by parameter, of summaries (..., E)."""
        return LARGEST_OFFSET * torch.tanh(self.heads(torch.tanh(self.hidden(summary))))


def log_frequency_range(span: float) -> tuple[float, float]:
    """Return the logarithms of one turn of a span, in units, and of one turn of a unit, the lower first."""
    low, high = sorted((math.log(2 * math.pi / span), math.log(2 * math.pi)))
    return low, high
