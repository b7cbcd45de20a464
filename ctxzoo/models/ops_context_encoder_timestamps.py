"""Timestamps of events: checks, and times relative to one event of their row, in a unit, all in float64."""

import torch

EXACT = (torch.float64, torch.int64, torch.int32)


def check_timestamps(timestamps: torch.Tensor, mask: torch.Tensor, *, ordered: bool) -> torch.Tensor:
    """Check timestamps and return them in float64, 0 at padding.

    float32 cannot hold them: at 1.33e9, seconds since 1970, neighbouring numbers are 128 s apart.

    Args:
        timestamps: (B, L) float64 or integers, in any unit; what stands at padding counts for nothing.
        mask: (B, L) booleans, True at events.
        ordered: whether times must not fall along a row, as in a causal model.

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
        _refuse_times(times, mask, ordered)
    return times


def _refuse_times(times: torch.Tensor, mask: torch.Tensor, ordered: bool) -> None:
    odd = (~torch.isfinite(times)).nonzero()
    if len(odd):
        row, position = odd[0].tolist()
        raise ValueError(
            f"timestamps: row {row}, position {position} is {times[row, position].item()}; expected a finite time for "
            "each event"
        )
    if ordered:
        latest = times.masked_fill(~mask, -torch.inf).cummax(dim=1).values
        falls = (mask & (times < latest)).nonzero()
        if len(falls):
            row, position = falls[0].tolist()
            raise ValueError(
                f"timestamps: row {row}, position {position} is {times[row, position].item()}, before an earlier event "
                f"at {latest[row, position].item()}; sort the events of each row by time"
            )


def row_units(times: torch.Tensor, mask: torch.Tensor, otherwise: float) -> torch.Tensor:
    """Return (B, 1) the median gap between the events of each row; `otherwise` where it is 0 or there is no gap.

    Args:
        times: (B, L) float64.
        mask: (B, L) booleans, True at events.
        otherwise: above 0.
    """
    ordered = times.masked_fill(~mask, torch.inf).sort(dim=1).values
    gaps = ordered.diff(dim=1)
    gaps = torch.where(gaps.isfinite(), gaps, torch.inf).sort(dim=1).values
    if gaps.size(1) == 0:
        return times.new_full((times.size(0), 1), otherwise)
    number = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)
    median = (gaps.gather(1, (number - 1) // 2) + gaps.gather(1, number // 2)) / 2
    return torch.where(median.isfinite() & (median > 0), median, otherwise)


def reference_times(times: torch.Tensor, mask: torch.Tensor, reference: str) -> torch.Tensor:
    """Return (B, 1) the time of the first or last event of each row; 0 for a row without events.

    Args:
        times: (B, L) float64.
        mask: (B, L) booleans, True at events.
        reference: "first" or "last".
    """
    if not times.size(1):
        return times.new_zeros(len(times), 1)
    if reference == "first":
        found = times.masked_fill(~mask, torch.inf).amin(dim=1, keepdim=True)
    else:
        found = times.masked_fill(~mask, -torch.inf).amax(dim=1, keepdim=True)
    return torch.where(found.isfinite(), found, 0.0)


def scaled_times(elapsed: torch.Tensor, unit: torch.Tensor | float, transform: str) -> torch.Tensor:
    """Return elapsed times in a unit, float64, compressed where asked: sign(tau) log(1 + |tau|).

    Args:
        elapsed: any shape, float64.
        unit: above 0.
        transform: "none" or "log".
    """
    tau = elapsed / unit
    return tau.sign() * tau.abs().log1p() if transform == "log" else tau


def relative_times(
    times: torch.Tensor, mask: torch.Tensor, unit: torch.Tensor | float, reference: str, transform: str
) -> torch.Tensor:
    """Return tau = (t - t_ref) / unit (time_encoding.md, 1.1), (B, L) float64, 0 at padding.

    Args:
        times, mask: see `check_timestamps`, which returns the times.
        unit: above 0, in the unit of the times; see `row_units`.
        reference: see `reference_times`.
        transform: see `scaled_times`.
    """
    tau = scaled_times(times - reference_times(times, mask, reference), unit, transform)
    return tau.masked_fill(~mask, 0.0)
