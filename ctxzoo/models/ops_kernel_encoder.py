"""Attention by learned kernels: features of their frequencies, the copula over heads, and sums over all pairs."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .ops_execution import refuse_second_derivative

FLOOR = 1e-5  # added to a kernel's value before its logarithm is taken
SLOPE = 0.2  # of the leaky ReLUs
LEAST_DIAGONAL = 1e-6  # a head that follows the others entirely leaves no row of its own in the copula's factor
# Pairs whose kernel is computed at a time: on a CPU what stays in the cache of a core, elsewhere what fills the device.
CPU_PAIRS = 2**18
DEVICE_PAIRS = 2**26
KEPT_PAIRS = 2**24  # of so many, or fewer, the backward pass finds the products as the forward pass left them


def apply_linear_in_input_dtype(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer to x in the type of x, whatever the type of its weights.

    The layer is called, so that one in its place (an adapter of LoRA, a quantised map, one with hooks) has its say;
    only the weights of a plain layer of another type are widened.
    """
    weight: object = layer.weight
    if not isinstance(weight, torch.Tensor) or weight.dtype == x.dtype:
        mapped: torch.Tensor = layer(x)
        return mapped
    if isinstance(layer, nn.Linear):
        return F.linear(x, weight.to(x.dtype), None if layer.bias is None else layer.bias.to(x.dtype))
    narrow: torch.Tensor = layer(x.to(weight.dtype))
    return narrow.to(x.dtype)


def frequency_features(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the features whose products are values of the kernel (Yaglom).

    phi(x) = [cos(2 pi w1'x) + cos(2 pi w2'x) ; sin(2 pi w1'x) + sin(2 pi w2'x)] / (2 sqrt(M)), so that phi(q).phi(k)
    is r, from -1 to 1.

    Args:
        x: (B, h, n, d) queries or keys, float32 or wider: half precision loses the phase.
        first: First frequencies w1: (h, M, d), (B, h, M, d), or (B, h, n, M, d) with frequencies of each position's
            own.
        second: Second frequencies w2, of the same shape. With w2 = w1 the kernel is stationary (Bochner).

    Returns:
        (B, h, n, 2 M).
    """
    cosines, sines = _compute_cosines_and_sines(x, first)
    more_cosines, more_sines = _compute_cosines_and_sines(x, second)
    cosines, sines = (cosines + more_cosines) / 2, (sines + more_sines) / 2
    return torch.cat([cosines, sines], dim=-1) / math.sqrt(first.size(-2))


def _compute_cosines_and_sines(x: torch.Tensor, frequencies: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosines and sines of 2 pi w'x for all frequencies w, (B, h, n, M) each."""
    if frequencies.dim() == 5:
        phases = (frequencies @ x.unsqueeze(-1)).squeeze(-1)  # (B, h, n, M)
    else:
        phases = x @ frequencies.transpose(-1, -2)
    phases = 2 * math.pi * phases
    return phases.cos(), phases.sin()


def log_squared_product(query_features: torch.Tensor, key_features: torch.Tensor) -> torch.Tensor:
    """Return the log-kernel log(r^2 + 1e-5), r = phi(q).phi(k), (B, h, queries, keys); r alone may be negative."""
    return ((query_features @ key_features.transpose(-1, -2)).square() + FLOOR).log()


def apply_odd_network(z: torch.Tensor, maps: Iterable[nn.Module]) -> torch.Tensor:
    """Return sign(z) W6 lrelu(W5 lrelu(W4 |z|)), the network that makes frequencies of noise: odd in z.

    Args:
        z: (..., d) input vectors.
        maps: Linear layers W4, W5 and W6 from d to d features.

    Returns:
        (..., d).
    """
    *inner, last = maps
    size = z.abs()
    for layer in inner:
        size = F.leaky_relu(apply_linear_in_input_dtype(layer, size), SLOPE)
    return z.sign() * apply_linear_in_input_dtype(last, size)


def copula_factor(directions: torch.Tensor, strength: torch.Tensor) -> torch.Tensor:
    """Return Lhat with rows of length 1, of which R = Lhat Lhat' is a correlation over heads, for each dimension.

    Lhat is the strictly lower triangle of t t' over heads, times the strength, plus the identity, its rows normalised.

    Args:
        directions: (B, h, n, d) directions T of the heads.
        strength: (d,) factors of the lower triangle.

    Returns:
        (B, n, d, h, h), lower triangular.
    """
    over_heads = directions.permute(0, 2, 3, 1)  # (B, n, d, h)
    products = strength.view(-1, 1, 1) * (over_heads.unsqueeze(-1) * over_heads.unsqueeze(-2))  # (B, n, d, h, h)
    factor = products.tril(-1) + torch.eye(products.size(-1), dtype=products.dtype, device=products.device)
    return F.normalize(factor, dim=-1)


def correlate_noise_of_heads(factor: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Mix the noise of all heads into correlated noise, Lhat e, with one vector over heads for each (d, k).

    Args:
        factor: (B, n, d, h, h) triangular factors of the heads' correlation.
        noise: (B or 1, h, 1, K, d) independent noise E.

    Returns:
        (B, h, n, K, d).
    """
    # h is the head that gets the noise, g are the heads that it comes from.
    return torch.einsum("bndhg,bgkd->bhnkd", factor, noise.squeeze(2).expand(factor.size(0), -1, -1, -1))


def frequency_kl_divergence(
    mean: torch.Tensor, log_deviation: torch.Tensor, prior_scale: float, factor: torch.Tensor | None
) -> torch.Tensor:
    """Return KL(N(mu, S R S) || N(0, s0^2 I)) in nats, S = diag(std), the sum over heads and dimensions.

    1/2 [sum_h (std_h^2 + mu_h^2) / s0^2 - h + sum_h log(s0^2 / std_h^2) - log det R] for each dimension, with
    log det R = 2 sum_h log Lhat_hh.

    Args:
        mean: (B, h, n, d) means mu.
        log_deviation: (B, h, n, d) logarithms of the standard deviations.
        prior_scale: Standard deviation s0 of the prior.
        factor: (B, n, d, h, h) triangular factors Lhat of the correlation R; None: R is the identity.

    Returns:
        (B, n).
    """
    log_ratio = log_deviation - math.log(prior_scale)
    terms = ((2 * log_ratio).exp() + (mean / prior_scale).square() - 1 - 2 * log_ratio) / 2
    divergence = terms.sum(dim=(1, 3))  # (B, n)
    if factor is not None:
        own = factor.diagonal(dim1=-2, dim2=-1)
        # -1/2 log det R: the factor is triangular, so that its diagonal decides.
        divergence = divergence - own.clamp(min=LEAST_DIAGONAL).log().sum(dim=(-2, -1))
    return divergence


def squared_product_attention(
    query_features: torch.Tensor,
    key_features: torch.Tensor,
    importance: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """Return the outputs of a softmax of log(r^2 + 1e-5) + importance over the real keys, r = phi(q).phi(k).

    Neither the logarithm nor the exponential is taken: with e_k = exp(importance - largest importance), the output is
    sum_k (r^2 + 1e-5) e_k v_k / sum_k (r^2 + 1e-5) e_k, and the denominator is 1e-5 or more.

    Args:
        query_features, key_features: Features phi of queries (B, h, queries, F) and keys (B, h, keys, F) in float32 or
            wider.
        importance: (B, h, keys) importance of the keys in nats.
        value: (B, h, keys, dv) values of all heads.
        mask: Boolean (B, keys), True where a key is real; None: all are.

    Returns:
        (B, h, queries, dv) in the type of the values, 0 in a row without any key.
    """
    if not importance.size(-1):
        return value.new_zeros(*query_features.shape[:3], value.size(-1))
    if mask is not None:
        importance = importance.masked_fill(~mask.unsqueeze(1), torch.finfo(importance.dtype).min)
    # Of the result the largest is no part: it cancels.
    factor = (importance - importance.detach().amax(dim=-1, keepdim=True)).exp()
    if mask is not None:
        factor = factor.masked_fill(~mask.unsqueeze(1), 0.0)  # where no key is real all would be 1
    # (e_k v_k, e_k), (B, h, keys, dv + 1): the last column makes the denominators.
    weighed = torch.cat([value.to(factor.dtype), torch.ones_like(factor.unsqueeze(-1))], dim=-1) * factor.unsqueeze(-1)
    sums: torch.Tensor
    if torch.compiler.is_compiling():  # which finds blocks of its own
        sums = (query_features @ key_features.transpose(-1, -2)).square() @ weighed
    else:
        # Batch and heads are one dimension, and values stand across: (B h, dv + 1, keys).
        grouped = (x.flatten(0, 1) for x in (query_features, key_features, weighed.mT.contiguous()))
        sums = _SquaredProductSums.apply(*grouped, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
        sums = sums.view(*value.shape[:2], *sums.shape[1:]).mT  # (B, h, queries, dv + 1)
    # The 1e-5 of each pair is the same for all queries, so that it is added once, behind the sums.
    sums = sums + FLOOR * weighed.sum(dim=2, keepdim=True)
    totals = sums[..., -1:]
    if mask is not None:
        totals = totals.masked_fill(totals == 0, 1.0)  # no key is real: 0 / 1
    return (sums[..., :-1] / totals).to(value.dtype)


class _SquaredProductSums(torch.autograd.Function):
    """sum_k (phi(q).phi(k))^2 v_k, (G, dv, queries), of (G, queries, F), (G, keys, F) and (G, dv, keys).

    Values stand across, for their products with wide tables: with dv = 9 these take a third to a sixth of the time.
    """

    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, differentiated: bool
    ) -> torch.Tensor:
        groups, number = queries.shape[:2]
        sums = values.new_empty(groups, values.size(1), number)
        stored_products = None
        if differentiated and groups * number * keys.size(1) <= KEPT_PAIRS:
            stored_products = queries.new_empty(groups, number, keys.size(1))
        for group, rows in _split_into_blocks(queries, keys):
            products = torch.bmm(
                queries[group, rows],
                keys[group].mT,
                out=None if stored_products is None else stored_products[group, rows],
            )
            squares = products.square_() if stored_products is None else products.square()
            sums[group, :, rows] = values[group] @ squares.mT
        ctx.save_for_backward(queries, keys, values, stored_products)
        return sums

    @staticmethod
    @refuse_second_derivative("attention by a learned kernel")
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        """Return the gradients of queries, keys and values, a block of queries at a time."""
        queries, keys, values, stored_products = ctx.saved_tensors
        (grad_sums,) = gradients
        grad_queries, grad_keys, grad_values = (
            torch.empty_like(queries),
            torch.zeros_like(keys),
            torch.zeros_like(values),
        )
        for group, rows in _split_into_blocks(queries, keys):
            # Of many pairs computed again, as cheap as to read it from memory.
            products = (
                queries[group, rows] @ keys[group].mT if stored_products is None else stored_products[group, rows]
            )
            # d r^2 = 2 r dr; the factor 2 comes last, on smaller tensors.
            slopes = (grad_sums[group, :, rows].mT @ values[group]).mul_(products)
            grad_queries[group, rows] = slopes @ keys[group]
            grad_keys[group].baddbmm_(slopes.mT, queries[group, rows])
            # What is kept stays as it is, for another backward pass; the slopes have been used by now.
            squares = products.square_() if stored_products is None else torch.square(products, out=slopes)
            grad_values[group].baddbmm_(grad_sums[group, :, rows], squares)
        return grad_queries.mul_(2), grad_keys.mul_(2), grad_values, None


def _split_into_blocks(queries: torch.Tensor, keys: torch.Tensor) -> list[tuple[slice, slice]]:
    """Return which groups and which queries of them are read at a time."""
    limit = CPU_PAIRS if queries.device.type == "cpu" else DEVICE_PAIRS
    groups, number = queries.shape[:2]
    # As many queries of a group as the limit allows; where that is all of them, several groups.
    rows = max(1, min(number, limit // max(1, keys.size(1))))
    together = max(1, limit // max(1, rows * keys.size(1)))
    return [
        (slice(group, group + together), slice(row, row + rows))
        for group in range(0, groups, together)
        for row in range(0, number, rows)
    ]


def masked_squared_error(
    predicted: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean squared error over the targets that there are.

    Args:
        predicted: (B, n, T) predictions of T targets.
        labels: (B, n, T) targets, floats, or (B, n) for one target; NaN where there is none.
        mask: Boolean (B, n), True at rows that count.

    Returns:
        Scalar in the square of the targets' unit, in float32 or wider, 0 without any target; and how many there are,
        at least 1.

    Raises:
        ValueError: labels of another shape or type.
    """
    if labels.dim() == 2 and predicted.size(-1) == 1:
        labels = labels.unsqueeze(-1)
    if labels.shape != predicted.shape:
        raise ValueError(f"labels must have shape {tuple(predicted.shape)}, got {tuple(labels.shape)}")
    if not labels.is_floating_point():
        raise ValueError(f"labels must be floats, NaN where there is no target; got {labels.dtype}")
    counts = mask.unsqueeze(-1) & ~labels.isnan()
    wide = torch.promote_types(predicted.dtype, torch.float32)
    # Not a product: what stands where nothing counts may be no number.
    errors = torch.where(counts, predicted.to(wide) - labels.to(wide), 0.0)
    number = counts.sum().clamp(min=1)
    return errors.square().sum() / number, number
