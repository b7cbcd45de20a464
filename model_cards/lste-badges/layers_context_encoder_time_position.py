"""How a time encoding enters an encoder: as a kernel for the scores of every layer, or in the vectors that it reads."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_context_encoder_time import (
    BochnerTime,
    LocallyStationaryTime,
    MercerTime,
    SampledBochnerTime,
    Time2VecTime,
    TimeEncoding,
)
from .ops_context_encoder_time import (
    LARGEST_THETA,
    lste_factors,
    lste_kernel,
    running_mean,
    time_scores,
)
from .ops_context_encoder_timestamps import check_timestamps, relative_times, row_units, scaled_times
from .ops_masking import masked_mean

IN_SCORES, IN_VECTORS = ("kernel", "multiply"), ("add", "concat")


@dataclass
class TimeContext:
    """What the layers of an encoder know of the times of a batch.

    Attributes:
        kernel: K (B, L, L), row by row of queries; None where times enter the vectors.
        features: (B, L, D), whose inner products are the kernel; None where each query has a kernel of its own.
    """

    kernel: torch.Tensor | None = None
    features: torch.Tensor | None = None


class TimePosition(nn.Module):
    """Reads timestamps once, before the first layer.

    Args:
        encoding: of time.
        combine: "kernel" or "multiply": K for the scores of every layer, see `TimeWeight`; "add": vector +
            Linear(phi); "concat": Linear([vector; phi]).
        hidden_size: E, numbers of a vector.
        unit: of tau, above 0, in the unit of the timestamps.
        row_unit: take the median gap of each row, and `unit` where there is none.
        reference: "first" or "last" event, from which tau is measured. In a causal encoder "last" is the last event
            that each position sees, which only the kernels of LSTE in scores can have.
        transform: "none" or "log", see `scaled_times`.
        causal: whether a position sees no later ones.

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
        row_unit: bool = False,
        reference: str = "first",
        transform: str = "none",
        causal: bool,
    ) -> None:
        super().__init__()
        self.encoding = encoding
        if causal and (row_unit or (reference == "last" and (self.local is None or combine in IN_VECTORS))):
            what = "row_unit=True" if row_unit else "reference='last'"
            raise ValueError(
                f"{what} measures the times of a causal encoder by events that its positions do not see; expected "
                "reference='first' and a unit for all rows (LSTE with combine='kernel' takes 'last' too)"
            )
        self.combine = combine
        self.unit, self.row_unit, self.reference, self.transform = unit, row_unit, reference, transform
        self.causal = causal
        width = {"add": encoding.size, "concat": encoding.size + hidden_size}.get(combine)
        self.projection = None if width is None else nn.Linear(width, hidden_size)

    def forward(
        self, vectors: torch.Tensor, timestamps: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, TimeContext]:
        """Return the vectors that the first layer reads, and what every layer knows of the times.

        Args:
            vectors: (B, L, E) of events.
            timestamps: (B, L) float64 or integers; what stands at padding counts for nothing.
            mask: (B, L) booleans, True at events.

        Raises:
            ValueError: see `check_timestamps`; in a causal encoder the times of a row must not fall.
        """
        times = check_timestamps(timestamps, mask, ordered=self.causal)
        unit = row_units(times, mask, self.unit) if self.row_unit else self.unit
        with torch.autocast(vectors.device.type, enabled=False):
            summary = self._summary(vectors, mask)
            if self.projection is None and self.local is not None and self.causal:
                tau, sigma = self._pairs(times, mask, unit)
                parameters = self.local.local_parameters(None if summary is None else summary.unsqueeze(2))
                kernel = lste_kernel(tau, sigma, parameters, exact=self.local.exact_angles)
                return vectors, TimeContext(kernel=kernel)
            tau = relative_times(times, mask, unit, self.reference, self.transform)
            features = self._features(tau, summary)
            if self.projection is None:
                features = self.encoding.kernel_scale**0.5 * features
                return vectors, TimeContext(kernel=features @ features.transpose(1, 2), features=features)
        features = features.to(vectors.dtype)
        if self.combine == "add":
            return vectors + self.projection(features), TimeContext()
        return self.projection(torch.cat([vectors, features], dim=-1)), TimeContext()

    @property
    def local(self) -> LocallyStationaryTime | None:
        """The encoding, where it is LSTE."""
        return self.encoding if isinstance(self.encoding, LocallyStationaryTime) else None

    def kernel_factors(
        self, vectors: torch.Tensor, timestamps: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return K (B, L, L), K1 and K2 (B, L, L, A) of LSTE, those of the whole history of each row.

        Args:
            vectors, timestamps, mask: see `forward`.

        Raises:
            ValueError: an encoding without such factors; see also `check_timestamps`.
        """
        if self.local is None:
            raise ValueError(f"a {type(self.encoding).__name__} has no factors K1 and K2; expected position='lste'")
        times = check_timestamps(timestamps, mask, ordered=False)
        unit = row_units(times, mask, self.unit) if self.row_unit else self.unit
        tau = relative_times(times, mask, unit, self.reference, self.transform)
        summary = self._whole_summary(vectors, mask)
        parameters = self.local.local_parameters(None if summary is None else summary.unsqueeze(2))
        tau, sigma = tau.unsqueeze(2), tau.unsqueeze(1)
        power, gaps = lste_factors(tau, sigma, parameters)
        return lste_kernel(tau, sigma, parameters), power, gaps

    def _pairs(
        self, times: torch.Tensor, mask: torch.Tensor, unit: torch.Tensor | float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return relative times of queries and keys, of shapes that broadcast to (B, L, L)."""
        if self.reference == "last":
            elapsed = times.unsqueeze(1) - times.unsqueeze(2)
            return torch.zeros_like(elapsed), scaled_times(elapsed, unit, self.transform)
        tau = relative_times(times, mask, unit, "first", self.transform)
        return tau.unsqueeze(2), tau.unsqueeze(1)

    def _summary(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor | None:
        """Return what is known of the behaviour: (B, 1, E) of rows, or (B, L, E) up to each position; None: nothing."""
        if self.causal and self.local is not None and self.local.behaviour is not None:
            return running_mean(vectors, mask)
        return self._whole_summary(vectors, mask)

    def _whole_summary(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor | None:
        if self.local is None or self.local.behaviour is None:
            return None
        return masked_mean(vectors, mask)[0].unsqueeze(1)

    def _features(self, tau: torch.Tensor, summary: torch.Tensor | None) -> torch.Tensor:
        return self.encoding.features(tau) if self.local is None else self.local.features(tau, summary)


class TimeWeight(nn.Module):
    """What a time kernel adds to the scores of one layer: theta K, theta = softplus, 1 at the start and 20 at most.

    Args:
        num_heads: h; each has a theta.
        combine: "kernel" or "multiply", see `time_scores`.
    """

    def __init__(self, num_heads: int, combine: str) -> None:
        super().__init__()
        self.combine = combine
        self.weight = nn.Parameter(torch.empty(num_heads)) if combine == "kernel" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.constant_(self.weight, 0.5413248546129181)  # softplus of it is 1

    def theta(self) -> torch.Tensor:
        """Return (h,) the weight of the kernel in each head."""
        assert self.weight is not None
        wide = self.weight.to(torch.promote_types(self.weight.dtype, torch.float32))
        return F.softplus(wide).clamp(max=LARGEST_THETA)

    def forward(self, kernel: torch.Tensor) -> torch.Tensor:
        """Return (B, h or 1, Q, K) in nats of a kernel (B, Q, K)."""
        theta = kernel.new_ones(1) if self.weight is None else self.theta()
        return time_scores(kernel, theta, self.combine)


def build_time_encoding(config: Any) -> TimeEncoding:
    """Return the encoding of time of a `ContextEncoderConfig`, whose `position` is one."""
    span = math.log1p(config.time_span) if config.time_transform == "log" else float(config.time_span)
    if config.position == "bochner":
        return BochnerTime(config.time_size, tied=config.tied_frequencies)
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


def build_time_position(config: Any) -> TimePosition:
    """Return how a `ContextEncoderConfig` reads timestamps; its `position` is an encoding of time."""
    return TimePosition(
        build_time_encoding(config),
        combine=config.time_combine,
        hidden_size=config.hidden_size,
        unit=float(config.time_unit),
        row_unit=config.row_time_unit,
        reference=config.time_reference,
        transform=config.time_transform,
        causal=config.causal,
    )
