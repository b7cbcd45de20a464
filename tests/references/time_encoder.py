"""The kernel of LSTE pair by pair in float64, and scores with a kernel of times as one inner product."""

from __future__ import annotations

import math

import torch

from ctxzoo.models.ops_time_encoder import LocalParameters


def reference_lste_kernel(
    times: torch.Tensor, parameters: LocalParameters
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute K, K1 and K2 of one row of times (L,) pair by pair in float64, from one set of parameters.

    Returns:
        (L, L), (L, L, A), (L, L, A).
    """
    alpha, gamma, centre, frequencies, weights = (value.double() for value in parameters)
    number = len(times)
    power, gaps = (times.new_zeros(number, number, len(alpha), dtype=torch.float64) for _ in range(2))
    for i, t in enumerate(times.double().tolist()):
        for j, s in enumerate(times.double().tolist()):
            for a in range(len(alpha)):
                u, delta = (t + s) / 2, t - s
                power[i, j, a] = torch.exp(2 * gamma[a] * u - alpha[a] * (u - centre[a]) ** 2)
                spectrum = (weights[a] * torch.cos(frequencies[a] * delta)).sum()
                gaps[i, j, a] = torch.exp(-alpha[a] * delta**2 / 4) * spectrum
    return (power * gaps).sum(dim=-1), power, gaps


def concatenated_features(
    query: torch.Tensor, key: torch.Tensor, query_times: torch.Tensor, key_times: torch.Tensor, theta: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return queries and keys whose scaled inner product is q . k / sqrt(d) + theta phi(t) . phi(s).

    They are [q, sqrt(theta sqrt(d)) phi], times (d' / d)^(1/4) where d' is their width: so an attention that divides by
    the root of the width it sees gives the same scores, and any kernel attention can read them.

    Args:
        query, key: (B, h, Q, d) and (B, h, K, d).
        query_times, key_times: phi of both, (B, Q, D) and (B, K, D).
        theta: (h,) 0 or more.
    """
    size = query.size(-1)
    factor = (theta * math.sqrt(size)).sqrt()[:, None, None]
    scale = ((size + query_times.size(-1)) / size) ** 0.25
    joined = []
    for vectors, times in ((query, query_times), (key, key_times)):
        features = (factor * times.unsqueeze(1)).to(vectors.dtype)
        joined.append(scale * torch.cat([vectors, features], dim=-1))
    return joined[0], joined[1]
