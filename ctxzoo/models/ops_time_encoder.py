"""Time encodings phi(t) and the kernels K(t, s) = phi(t) . phi(s) that they define.

Times are tau, relative to an event of their row and in a unit (`relative_times`), and stay in float64 until an angle is
reduced to a turn: float32 loses the phase of omega * tau for large arguments. Encodings that are sines of time are
stationary: their kernel depends on the gap alone. LSTE is locally stationary: K = sum over a of K1_a((t + s) / 2)
K2_a(t - s), which holds exactly because the logarithm of the envelope is quadratic (time_encoding.md, 1.3).
"""

import math
from typing import NamedTuple

import torch

EXACT = (torch.float64, torch.int64, torch.int32)  # types that hold timestamps
LEAST_LOG_ENVELOPE, MOST_LOG_ENVELOPE = -20.0, 5.0
LARGEST_THETA = 20.0  # nats that a kernel of 1 may add to a logit
KERNEL_FLOOR = 1e-6  # of a kernel that multiplies weights


class LocalParameters(NamedTuple):
    """The parameters of locally stationary features, with A components of M frequencies.

    Leading dimensions, if any, broadcast against those of the times: none for one set, (B, 1) for one set a row, and in
    `lste_kernel` (B, Q, 1) for one set a query.

    Attributes:
        alpha: (..., A) curvature of the envelope, 0 or more, in 1 / unit^2.
        gamma: (..., A) growth of the envelope, in 1 / unit.
        centre: (..., A) centre c at which the envelope with gamma = 0 is highest, in units.
        frequencies: (..., A, M) frequencies omega in radians per unit.
        weights: (..., A, M) weights w, 0 or more; they sum to 1 over components and frequencies.
    """

    alpha: torch.Tensor
    gamma: torch.Tensor
    centre: torch.Tensor
    frequencies: torch.Tensor
    weights: torch.Tensor


def reduce_angles(tau: torch.Tensor, frequencies: torch.Tensor) -> torch.Tensor:
    """Return tau * frequencies less whole turns, in [-pi, pi]; the product and its reduction are float64.

    Args:
        tau, frequencies: Times and frequencies, tensors whose shapes broadcast.

    Returns:
        In the type of the frequencies, float32 at least.
    """
    angles = tau.double() * frequencies.double()
    # Whole turns are a constant to the gradient, and the sine of the rest is the same.
    turns = (angles / (2 * math.pi)).round().detach()
    return (angles - turns * (2 * math.pi)).to(_float32_or_wider(frequencies))


def bochner_features(
    tau: torch.Tensor, sine_frequencies: torch.Tensor, cosine_frequencies: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """Return Bochner features sqrt(2/D) [sin(tau f), cos(tau f')] * beta (Xu et al. 2019, but for the factor).

    With f = f' and beta = 1 the inner product is the mean of cos(f (t - s)), 1 for equal times. It is a function of the
    gap where a sine and its cosine have one frequency and one beta.

    Args:
        tau: (B, L) relative times, float64.
        sine_frequencies, cosine_frequencies: (D/2,) frequencies of the sines and of the cosines.
        beta: (D,) weights beta of the features.

    Returns:
        (B, L, D).
    """
    sines = reduce_angles(tau[..., None], sine_frequencies).sin()  # (B, L, D/2)
    cosines = reduce_angles(tau[..., None], cosine_frequencies).cos()
    return math.sqrt(2 / beta.size(0)) * torch.cat([sines, cosines], dim=-1) * beta


def mercer_features(
    tau: torch.Tensor, periods: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Return Mercer features b_d + sum_j W_dj sin(j tau / period_d) + W_d,J+j cos(j tau / period_d) (Xu et al. 2019).

    Args:
        tau: (B, L) relative times, float64.
        periods: (D,) periods, in radians, as in the authors' code: without a factor 2 pi.
        weights: (D, 2J) weights of the harmonics, those of the sines first.
        bias: (D,) bias of the features.

    Returns:
        (B, L, D).
    """
    harmonics = weights.size(1) // 2
    multiples = torch.arange(1, harmonics + 1, dtype=torch.float64, device=tau.device)
    # (B, L, 1, J) and (D, 1) make (B, L, D, J).
    angles = reduce_angles(tau[..., None, None] * multiples, 1 / periods[:, None].double()).to(
        _float32_or_wider(periods)
    )
    waves = torch.cat([angles.sin(), angles.cos()], dim=-1)  # (B, L, D, 2J)
    return bias + (waves * weights).sum(dim=-1)


def time2vec_features(tau: torch.Tensor, frequencies: torch.Tensor, phases: torch.Tensor) -> torch.Tensor:
    """Return one linear term, f_0 tau + p_0, and sines sin(f_d tau + p_d), d = 1..D-1 (Kazemi et al. 2019).

    Args:
        tau: (B, L) relative times, float64.
        frequencies, phases: (D,) frequencies and phases of the features.

    Returns:
        (B, L, D).
    """
    # The product is taken in float64, as tau may be large.
    linear = (tau[..., None] * frequencies[:1].double()).to(_float32_or_wider(frequencies)) + phases[:1]
    sines = (reduce_angles(tau[..., None], frequencies[1:]) + phases[1:]).sin()
    return torch.cat([linear, sines], dim=-1)


def log_envelopes(tau: torch.Tensor, parameters: LocalParameters) -> torch.Tensor:
    """Return log-envelopes gamma tau - alpha/2 (tau - c)^2: how much an event at time tau counts.

    They are float64, clipped to [-20, 5].

    Args:
        tau: (...) relative times.
        parameters: Parameters of the envelopes, tensors (..., A) that broadcast against tau with one dimension more.

    Returns:
        (..., A).
    """
    at = tau.double().unsqueeze(-1)
    alpha, gamma, centre = (value.double() for value in parameters[:3])
    return (gamma * at - alpha / 2 * (at - centre) ** 2).clamp(LEAST_LOG_ENVELOPE, MOST_LOG_ENVELOPE)


def lste_features(tau: torch.Tensor, parameters: LocalParameters) -> torch.Tensor:
    """Return LSTE features env_a(tau) sqrt(w_am) [cos(omega_am tau), sin(omega_am tau)] (time_encoding.md, 1.3).

    Args:
        tau: (B, L) relative times, float64.
        parameters: Parameters of the kernel: one set, or one for each row with leading dimensions (B, 1).

    Returns:
        (B, L, 2 A M).
    """
    kind = _float32_or_wider(parameters.frequencies)
    envelopes = log_envelopes(tau, parameters).exp().to(kind)  # (B, L, A)
    angles = reduce_angles(tau[..., None, None], parameters.frequencies)  # (B, L, A, M)
    waves = torch.stack([angles.cos(), angles.sin()], dim=-1)  # (B, L, A, M, 2)
    # The root of w, since a kernel is a product of two features.
    return (envelopes[..., None, None] * parameters.weights.to(kind).sqrt().unsqueeze(-1) * waves).flatten(-3)


def lste_kernel(
    tau: torch.Tensor, sigma: torch.Tensor, parameters: LocalParameters, *, exact: bool = True
) -> torch.Tensor:
    """Return the LSTE kernel K(tau, sigma) = sum_a env_a(tau) env_a(sigma) sum_m w_am cos(omega_am (tau - sigma)).

    What `lste_features` give as inner products, where one set of parameters holds for both times; written so, each pair
    may have a set, and times of its own.

    Args:
        tau, sigma: Relative times of queries and keys, whose shapes broadcast to (B, Q, K).
        parameters: Parameters of the kernel, whose leading dimensions broadcast against (B, Q, K).
        exact: Whether angles are reduced in float64. Otherwise angles up to 1e4 are off by 1e-3 at most, and the
            function is several times as fast.

    Returns:
        (B, Q, K).
    """
    kind = _float32_or_wider(parameters.frequencies)
    # One exp of the sum of both logarithms, (B, Q, K, A).
    powers = (log_envelopes(tau, parameters) + log_envelopes(sigma, parameters)).exp().to(kind)
    return (powers * _compute_spectral_sum(tau - sigma, parameters, exact)).sum(dim=-1)


def lste_factors(
    tau: torch.Tensor, sigma: torch.Tensor, parameters: LocalParameters
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return K1_a(u) = exp(2 gamma u - alpha (u - c)^2) and K2_a(d) = exp(-alpha d^2 / 4) sum_m w cos(omega d).

    u is the middle of two times, d their gap; the sum over a of K1_a K2_a is `lste_kernel` where no envelope is
    clipped.

    Args:
        tau, sigma, parameters: Relative times of queries and keys, and parameters, as in `lste_kernel`.

    Returns:
        (..., A) each.
    """
    middle, gap = ((tau + sigma) / 2).double().unsqueeze(-1), (tau - sigma).double().unsqueeze(-1)
    alpha, gamma, centre = (value.double() for value in parameters[:3])
    kind = _float32_or_wider(parameters.frequencies)
    # (t - c)^2 + (s - c)^2 = 2 (u - c)^2 + d^2 / 2, so the envelopes are a factor of u times one of d.
    power = (2 * gamma * middle - alpha * (middle - centre) ** 2).exp().to(kind)
    return power, (-alpha * gap**2 / 4).exp().to(kind) * _compute_spectral_sum(tau - sigma, parameters, exact=True)


def _compute_spectral_sum(gap: torch.Tensor, parameters: LocalParameters, exact: bool) -> torch.Tensor:
    """Return the stationary part of the kernel at a gap of time: sum over m of w_am cos(omega_am gap), (..., A)."""
    frequencies = parameters.frequencies
    if exact:
        angles = reduce_angles(gap[..., None, None], frequencies)
    else:
        kind = _float32_or_wider(frequencies)
        angles = gap.to(kind)[..., None, None] * frequencies.to(kind)
    return (angles.cos() * parameters.weights.to(angles.dtype)).sum(dim=-1)


def running_mean(vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return (B, L, E) the mean over the events up to each position and with it; 0 before the first.

    Args:
        vectors: (B, L, E) vectors.
        mask: (B, L) booleans, True at events.
    """
    real = mask.unsqueeze(-1).to(vectors.dtype)
    return (vectors * real).cumsum(dim=1) / real.cumsum(dim=1).clamp(min=1)


def time_scores(kernel: torch.Tensor, theta: torch.Tensor, combine: str) -> torch.Tensor:
    """Return the bias, in nats, of attention scores from a time kernel (time_encoding.md, 1.5).

    Args:
        kernel: (B, Q, K) kernel of time.
        theta: (h,) weight theta of the kernel in each head, 0 or more.
        combine: How the kernel enters the scores: "kernel", theta K is added; "multiply", log(max(K, 0) + 1e-6) is
            added, which multiplies the weight.

    Returns:
        (B, h, Q, K), or (B, 1, Q, K) for "multiply".
    """
    if combine == "multiply":
        return (kernel.clamp(min=0) + KERNEL_FLOOR).log().unsqueeze(1)
    return theta[:, None, None] * kernel.unsqueeze(1)


def _float32_or_wider(numbers: torch.Tensor) -> torch.dtype:
    """Return float32 for half precision, and otherwise the type of `numbers`."""
    return torch.float32 if numbers.dtype in (torch.float16, torch.bfloat16) else numbers.dtype


def check_timestamps(timestamps: torch.Tensor, mask: torch.Tensor, *, ordered: bool) -> torch.Tensor:
    """Check timestamps and return them in float64, 0 at padding.

    float32 cannot hold them: at 1.33e9, seconds since 1970, neighbouring numbers are 128 s apart.

    Args:
        timestamps: (B, L) times, float64 or integers, in any unit; values at padding are ignored.
        mask: (B, L) booleans, True at events.
        ordered: Whether times must not fall along a row, as a causal model needs it.

    Raises:
        ValueError: another type or shape; an event whose time is no finite number, or is before that of the event
            before it (values are read on the CPU only: on a device it would wait for the queue).
    """
    if timestamps.dtype not in EXACT:
        raise ValueError(
            f"timestamps are {timestamps.dtype}, which cannot hold times such as seconds since 1970; expected "
            "torch.float64 or torch.int64, and no cast before the model"
        )
    if timestamps.shape != mask.shape:
        raise ValueError(
            f"timestamps of shape {tuple(timestamps.shape)}: expected {tuple(mask.shape)}, one for each event"
        )
    times = timestamps.double().masked_fill(~mask, 0.0)
    if not (torch.compiler.is_compiling() or times.is_cuda):
        _check_finite_and_ordered(times, mask, ordered)
    return times


def _check_finite_and_ordered(times: torch.Tensor, mask: torch.Tensor, ordered: bool) -> None:
    """Raise ValueError for a time that is not finite or, if `ordered`, earlier than one before it in its row.

    `times` and `mask` are (B, L); the mask is True at events.
    """
    odd = (~torch.isfinite(times)).nonzero()
    if len(odd):
        row, position = odd[0].tolist()
        raise ValueError(
            f"timestamps: row {row}, position {position} is {times[row, position].item()}; expected a finite time for "
            "each event"
        )
    if ordered:
        # Padding is -inf here, and so changes no latest time.
        latest = times.masked_fill(~mask, -torch.inf).cummax(dim=1).values
        falls = (mask & (times < latest)).nonzero()
        if len(falls):
            row, position = falls[0].tolist()
            raise ValueError(
                f"timestamps: row {row}, position {position} is {times[row, position].item()}, before an earlier event "
                f"at {latest[row, position].item()}; sort the events of each row by time"
            )


def reference_times(times: torch.Tensor, mask: torch.Tensor, reference: str) -> torch.Tensor:
    """Return (B, 1) the time of the first or last event of each row; 0 for a row without events.

    Args:
        times: (B, L) times, float64.
        mask: (B, L) booleans, True at events.
        reference: Event from which times are measured, "first" or "last".
    """
    if not times.size(1):
        return times.new_zeros(len(times), 1)
    if reference == "first":
        references = times.masked_fill(~mask, torch.inf).amin(dim=1, keepdim=True)
    else:
        references = times.masked_fill(~mask, -torch.inf).amax(dim=1, keepdim=True)
    return torch.where(references.isfinite(), references, 0.0)  # infinite in a row without events


def scale_times(elapsed: torch.Tensor, unit: float, transform: str) -> torch.Tensor:
    """Return elapsed times in a unit, float64, or on request compressed to sign(tau) log(1 + |tau|).

    Args:
        elapsed: Elapsed times of any shape, float64.
        unit: Unit of the result, above 0, in the unit of the times.
        transform: Transform of the times, "none" or "log".
    """
    tau = elapsed / unit
    return tau.sign() * tau.abs().log1p() if transform == "log" else tau


def relative_times(
    times: torch.Tensor, mask: torch.Tensor, unit: float, reference: str, transform: str
) -> torch.Tensor:
    """Return relative times tau = (t - t_ref) / unit (time_encoding.md, 1.1), (B, L) float64, 0 at padding.

    Args:
        times, mask: Times and mask of events, as `check_timestamps` returns and takes them.
        unit: Unit of the result, above 0, in the unit of the times.
        reference: Event from which times are measured, "first" or "last", as in `reference_times`.
        transform: Transform of the times, "none" or "log", as in `scale_times`.
    """
    tau = scale_times(times - reference_times(times, mask, reference), unit, transform)
    return tau.masked_fill(~mask, 0.0)
