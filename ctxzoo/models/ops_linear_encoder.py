"""Attention in linear time (ESA): a kernel that is an inner product of features, summed over the keys once.

With queries q, keys k of d numbers, values v, s = sqrt(d) and x' = x / d^(1/4), so that q'.k' = q.k / s:

    m_j   = exp(||k_j||_p^2 / (2 s))                                     the importance of a key
    S     = sum_j m_j phi(k_j) v_j^T,  n = sum_j m_j phi(k_j)
    out_i = phi(q_i) S / (phi(q_i) . n)

The features of Performer (Choromanski et al. 2021, FAVOR+) make phi(q) . phi(k) an unbiased estimate of the RBF kernel
exp(-||q' - k'||^2 / 2); with p = 2 the product with m_j is one of exp(q.k / s), up to a factor of the query, which
cancels. elu + 1 is the map of Katharopoulos et al. (2020).
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch.nn import functional as F

from .ops_encoder import squared_norm
from .ops_execution import refuse_second_derivative
from .ops_linear_encoder_triton import causal_sums_backward, causal_sums_forward
from .ops_triton import Implementation, check_implementation

FeatureMap = Literal["favor", "hyperbolic", "elu", "relu", "learned", "trig"]
FEATURE_MAPS: tuple[str, ...] = get_args(FeatureMap)

RELU_FLOOR = 1e-3
RISE = 40.0  # nats by which log-features of causal keys may be above their level; exp of it times many keys is finite


class Features(NamedTuple):
    """Features as phi = factor exp(exponent + offset), which lets the largest exponent be taken away before exp.

    Attributes:
        exponent: (..., L, F) exponents of the features, or None where they are no exponentials.
        factor: (..., L, F) factors of the exponentials, or None where they are 1.
        offset: (..., L, 1) exponent in nats that all features of a position share.
        signed: Whether features may be negative, so that sums of them may vanish.
    """

    exponent: torch.Tensor | None
    factor: torch.Tensor | None
    offset: torch.Tensor
    signed: bool = False


class LinearState(NamedTuple):
    """What is kept of all keys so far: its size does not depend on their number.

    Attributes:
        sums: (B, h, F, dv + 1) sums S over the keys and, in the last column, n, both times exp(-level).
        level: (B, h) level R; the largest log-feature of a key so far is at most `RISE` above it.
    """

    sums: torch.Tensor
    level: torch.Tensor


def default_num_features(head_size: int, learned: bool = False) -> int:
    """Return M = d ln d, or of `learned` features d / 2, rounded up to a multiple of 8, and at least 32."""
    number = head_size / 2 if learned else round(head_size * math.log(head_size))
    return max(32, 8 * math.ceil(number / 8))


def check_state_decay(state_decay: float | Sequence[float], num_heads: int) -> list[float]:
    """Return the decay of each head, from one number for all or from `num_heads` of them.

    Raises:
        ValueError: another number of them, or one that is not in (0, 1].
    """
    factors = (
        [float(state_decay)] * num_heads if isinstance(state_decay, int | float) else list(map(float, state_decay))
    )
    if len(factors) != num_heads or not all(0 < factor <= 1 for factor in factors):
        raise ValueError(
            f"state_decay is {state_decay}; expected a number in (0, 1], or {num_heads} of them, one for each head"
        )
    return factors


def draw_projection(num_features: int, size: int, generator: torch.Generator) -> torch.Tensor:
    """Draw the random projection w_1 to w_M, (M, d) in float32 on the CPU.

    Each block of d rows is orthogonal, its rows as long as those of independent normal vectors (Choromanski et al.
    2021, section 3).

    Args:
        num_features: Number M of frequencies.
        size: Number d of input features.
        generator: Random number generator on the CPU.
    """

    def normal(*shape: int) -> torch.Tensor:
        """Return standard normal numbers, drawn on the CPU so that every device starts alike."""
        return torch.randn(*shape, dtype=torch.float32, device="cpu", generator=generator)

    num_blocks = math.ceil(num_features / size)
    rotations, triangles = torch.linalg.qr(normal(num_blocks, size, size))
    # LAPACK decides about signs; only with a positive diagonal of R is Q uniform, and the estimate unbiased.
    rotations = rotations * torch.sgn(triangles.diagonal(dim1=1, dim2=2)).unsqueeze(1)
    lengths = normal(num_features, size).norm(dim=1, keepdim=True)
    rows: torch.Tensor = rotations.mT.flatten(0, 1)[:num_features] * lengths
    return rows


def feature_map(
    x: torch.Tensor,
    kind: str,
    projection: torch.Tensor | None,
    relative: bool = False,
    squared_length: torch.Tensor | None = None,
) -> Features:
    """Return the features phi(x) of queries or keys.

    Args:
        x: (B, h, L, d) queries or keys.
        kind: Kind of feature map, one of `FEATURE_MAPS`.

            favor, learned: M^-1/2 exp(w.x' - ||x'||^2).
            hyperbolic: (2 M)^-1/2 [exp(w.x' - ||x'||^2), exp(-w.x' - ||x'||^2)].
            elu: elu(x) + 1; relu: relu(w.x') + 1e-3.
            trig: M^-1/2 [cos w.x', sin w.x'], which has signs.
        projection: Projection W, (h, M, d) or (M, d); None for elu.
        relative: Whether to leave out ||x'||^2 and M, which all features of a position share and which cancel in
            queries.
        squared_length: ||x||^2, (B, h, L), where it is known already.

    Returns:
        features with F = M, or 2 M of hyperbolic and trig, or d of elu.

    Raises:
        ValueError: an unknown kind, or a projection that is missing.
    """
    if kind not in FEATURE_MAPS:
        raise ValueError(f"feature_map {kind!r} is none of {', '.join(FEATURE_MAPS)}")
    if kind == "elu":
        return Features(None, F.elu(x) + 1, torch.zeros_like(x[..., :1]))
    if projection is None:
        raise ValueError(f"feature_map {kind!r} needs a projection, got None")
    size = x.size(-1)
    # The scale of x' goes to the smaller tensor, in decoding the token.
    scale, one = size**-0.25, x.size(-2) == 1
    projected = (x * scale) @ projection.mT if one else x @ (projection * scale).mT  # (B, h, L, M)
    if kind == "relu":
        return Features(None, F.relu(projected) + RELU_FLOOR, torch.zeros_like(x[..., :1]))
    num_features = projection.size(-2)
    if kind == "trig":
        both = torch.cat((projected.cos(), projected.sin()), dim=-1) * num_features**-0.5  # (B, h, L, 2 M)
        return Features(None, both, torch.zeros_like(x[..., :1]), signed=True)
    if kind == "hyperbolic":
        projected = torch.cat((projected, -projected), dim=-1)
        num_features *= 2
    if relative:
        return Features(projected, None, torch.zeros_like(x[..., :1]))
    # -||x'||^2 - ln sqrt(number), where ||x'||^2 = ||x||^2 / sqrt(d).
    if squared_length is None:
        squared_length = squared_norm(x, 2.0)
    offset = squared_length.unsqueeze(-1) * -(size**-0.5) - 0.5 * math.log(num_features)
    return Features(projected, None, offset)


def feature_values(features: Features) -> torch.Tensor:
    """Return the features phi (..., L, F) as plain numbers, which may overflow where exponents are large."""
    return _multiply_by_exp(features.factor, features.exponent, features.offset)


def log_importance(key: torch.Tensor, p: float, squared_length: torch.Tensor | None = None) -> torch.Tensor:
    """Return the log-importance log m = ||k||_p^2 / (2 sqrt(d)), (..., L, 1), of keys (..., L, d).

    `squared_length` is ||k||_p^2, (..., L), where it is known already.
    """
    if squared_length is None:
        squared_length = squared_norm(key, p)
    return squared_length.unsqueeze(-1) / (2 * math.sqrt(key.size(-1)))


def linear_attention(
    query: Features,
    key: Features,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    chunk_size: int = 64,
    eps: float = 1e-6,
    state: LinearState | None = None,
    with_state: bool = False,
    with_clamped: bool = False,
    implementation: Implementation = "auto",
) -> tuple[torch.Tensor, LinearState | None, torch.Tensor | None]:
    """Attend in time and memory linear in the number of keys.

    The largest log-feature is taken away before exp: of each query over its features; of the keys over all of them. In
    causal attention it is that of an earlier key, until one is much larger. So a later key changes nothing of an
    earlier output, not even its rounding.

    Args:
        query: Features of the queries, (B, h, T, F).
        key: Features of the keys, (B, h, L, F), with the importance in their offset.
        value: (B, h, L, dv) values.
        mask: Boolean (B, L), True at real keys.
        causal: Whether query i sees only keys up to i + L - T. Chunks of `chunk_size` queries attend to their own keys
            by a masked matrix, to all earlier ones by running sums.
        chunk_size: Number C of queries in a chunk.
        eps: Small number that is added to the queries' features, unless they have signs, and the smallest denominator.
        state: Cached state of earlier keys; causal only, with as many queries as keys.
        with_state: Whether to return the state after these keys; causal only.
        with_clamped: Whether to return the fraction of denominators that were clamped.
        implementation: Implementation of the causal sums: plain is in PyTorch; triton is fused kernels (CUDA) with
            chunks of their own size, which store neither the matrices of chunks nor the sums before each; auto takes
            plain.

    Returns:
        out (B, h, T, dv), 0 for a query without keys; the state or None; and on request the fraction of the queries
        with keys whose output the eps decides: of positive features, those where at least half of the denominator
        comes from `eps`, of signed ones those where it is smaller than `eps`.

    Raises:
        ValueError: a mask that is not (B, L), a state without causal, more causal queries than keys, a state with
            another number of queries than keys, a chunk size below 1, or an implementation that does not exist, or
            cannot run on this input.
    """
    num_queries, num_keys = _count_positions(query), _count_positions(key)
    _check_sizes(key.offset.size(0), num_queries, num_keys, mask, causal)
    if chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size}, expected at least 1")
    if implementation == "triton" and not causal:
        raise ValueError("implementation 'triton' is of causal sums only; got causal=False")
    check_implementation(implementation, value)
    if (state is not None or with_state) and not causal:
        raise ValueError("a state is of causal attention only; got causal=False")
    if state is not None and num_queries != num_keys:
        raise ValueError(f"{num_queries} queries of {num_keys} keys beside a state; expected as many keys as queries")
    if num_keys == 0 or num_queries == 0:
        return value.new_zeros(*value.shape[:2], num_queries, value.size(-1)), state, None
    features = _evaluate_query_features(query, eps)
    next_state = None
    if state is not None and not with_clamped and not torch.compiler.is_compiling() and num_keys == 1:
        # What the sums of chunks below come to for one token.
        next_state = sum_keys(key, value, mask, state=state)
        return _divide_by_last_column(features @ next_state.sums, eps, query.signed), next_state, None
    if not causal:
        sums = sum_keys(key, value, mask).sums  # (B, h, F, dv + 1)
        weighted_sums = features @ sums  # (B, h, T, dv + 1)
        # n summed over features: eps times it is what `eps` adds to a denominator.
        guard = sums[..., -1].sum(dim=-1, keepdim=True) if with_clamped else None
    else:
        weighted_sums, next_state, guard = _sum_causally_in_chunks(
            features, key, value, mask, num_keys - num_queries, chunk_size, state, with_clamped, implementation
        )
    clamped = _compute_clamped_fraction(
        weighted_sums[..., -1], guard, mask, causal, num_queries, eps, query.signed, state
    )
    return _divide_by_last_column(weighted_sums, eps, query.signed), next_state if with_state else None, clamped


def sum_keys(
    key: Features,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    state: LinearState | None = None,
) -> LinearState:
    """Return the sums S and n over keys, those in `state` included; arguments as in `linear_attention`."""
    levels = _find_largest_log_features(key, mask)
    level = levels.amax(dim=-1)  # (B, h)
    if state is not None:
        level = torch.maximum(level, state.level)
    features = _evaluate_key_features(key, level.unsqueeze(-1).expand_as(levels), mask).mT  # (B, h, F, L)
    if state is None:
        return LinearState(features @ _append_ones_column(value), level)
    # Sums at a lower level are brought to the new one.
    sums = state.sums * (state.level - level).exp()[..., None, None]
    if features.size(-1) == 1:  # a single token takes the time of its calls: no column of ones, no product of matrices
        sums[..., :-1].addcmul_(features, value)
        sums[..., -1:].add_(features)
        return LinearState(sums, level)
    return LinearState(features @ _append_ones_column(value) + sums, level)


def attend_to_key_sums(query: Features, state: LinearState, eps: float = 1e-6) -> torch.Tensor:
    """Return out (B, h, T, dv) of queries that see all keys in `state`; see `linear_attention`."""
    return _divide_by_last_column(_evaluate_query_features(query, eps) @ state.sums, eps, query.signed)


def linear_attention_weights(
    query: Features,
    key: Features,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    eps: float = 1e-6,
) -> torch.Tensor:
    """Return the weights (B, h, T, L) that `linear_attention` never forms; arguments as there."""
    num_queries, num_keys = _count_positions(query), _count_positions(key)
    _check_sizes(key.offset.size(0), num_queries, num_keys, mask, causal)
    features = _evaluate_query_features(query, eps)
    levels = _find_largest_log_features(key, mask)
    if causal:
        levels = levels.cummax(dim=-1).values
        keys = _evaluate_key_features(key, levels, mask)
        query_levels = levels[..., num_keys - num_queries :]
        weights = (features @ keys.mT) * _compute_causal_decay(query_levels, levels, num_keys - num_queries)
    else:
        level = levels.amax(dim=-1, keepdim=True) if num_keys else levels
        weights = features @ _evaluate_key_features(key, level.expand_as(levels), mask).mT
    total = weights.sum(dim=-1, keepdim=True)
    if query.signed:
        return weights / torch.where(total.abs() < eps, torch.where(total < 0, -eps, eps), total)
    return weights / total.clamp(min=eps)


def _sum_causally_in_chunks(
    features: torch.Tensor,
    key: Features,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    num_before: int,
    chunk_size: int,
    state: LinearState | None,
    with_guard: bool,
    implementation: Implementation,
) -> tuple[torch.Tensor, LinearState, torch.Tensor | None]:
    """Return the sums over the keys that each query sees, (B, h, T, dv + 1), the state behind the last key, and guards.

    A guard (B, h, T), None without `with_guard`, is the sum of the seen keys over all features.
    """
    weighed = _append_ones_column(value)
    levels = _choose_causal_levels(_find_largest_log_features(key, mask), state)  # (B, h, L)
    keys = _evaluate_key_features(key, levels, mask)  # (B, h, L, F), each key at the level of its own position
    if num_before:
        # Keys that every query sees.
        level = levels[..., num_before - 1]
        # From the level of its own position each key is brought to that of the last of them.
        scale = (levels[..., :num_before] - level.unsqueeze(-1)).exp().unsqueeze(-1)
        state = LinearState(keys[..., :num_before, :].mT @ (weighed[..., :num_before, :] * scale), level)
        keys, weighed, levels = keys[..., num_before:, :], weighed[..., num_before:, :], levels[..., num_before:]
    if implementation == "triton":
        return _sum_causally_in_kernels(features, keys, value[..., num_before:, :], levels, state, with_guard)
    length = keys.size(-2)
    # In an exported program the length is a symbol, of which nothing can be divided: one chunk has all queries.
    size = length if torch.compiler.is_exporting() else min(chunk_size, length)
    num_chunks = 1 if torch.compiler.is_exporting() else (length + size - 1) // size
    padding = num_chunks * size - length
    if not torch.compiler.is_exporting() and padding:
        # Padding adds nothing, as its keys and values and the column of ones are 0; the level stays.
        features, keys, weighed = (F.pad(tensor, (0, 0, 0, padding)) for tensor in (features, keys, weighed))
        levels = torch.cat((levels, levels[..., -1:].expand(*levels.shape[:-1], padding)), dim=-1)
    features, keys, weighed = (
        tensor.reshape(*tensor.shape[:-2], num_chunks, size, tensor.size(-1)) for tensor in (features, keys, weighed)
    )  # (B, h, N, C, .) each
    levels = levels.reshape(*levels.shape[:-1], num_chunks, size)  # (B, h, N, C)

    if state is None:
        state = LinearState(torch.zeros_like(keys[..., 0, 0, :, None] * weighed[..., 0, :1, :]), levels[..., 0, 0])
    ends = levels[..., -1]  # the level after each chunk, (B, h, N)
    starts = torch.cat((state.level.unsqueeze(-1), ends[..., :-1]), dim=-1)
    # From the level at which a chunk starts to that of each of its queries, (B, h, N, C).
    fall = (starts.unsqueeze(-1) - levels).exp()
    decay = None
    if _may_differ(state.level, ends[..., -1]):
        decay = _compute_causal_decay(levels, levels, 0)  # (B, h, N, C, C), lower triangular
        # The sums of each chunk at the level of its end, (B, h, N, F, dv + 1).
        chunk_sums = keys.mT @ (weighed * (levels - ends.unsqueeze(-1)).exp().unsqueeze(-1))
        carried, last_sums = _cumulate_chunk_sums(state, chunk_sums, ends)
        weighted_sums = ((features @ keys.mT) * decay) @ weighed + (features @ carried) * fall.unsqueeze(-1)
    else:
        # All factors are exactly 1.
        weighted_sums, carried, last_sums = _CausalSums.apply(  # type: ignore[no-untyped-call]
            features, keys, weighed, state.sums
        )
    guard = None
    if with_guard:
        of_keys = keys.detach().sum(dim=-1, keepdim=True)  # (B, h, N, C, 1)
        guard = of_keys.cumsum(dim=-2) if decay is None else decay @ of_keys
        guard = guard.squeeze(-1) + carried[..., -1].detach().sum(dim=-1, keepdim=True) * fall
        guard = guard.flatten(-2)[..., :length]
    return weighted_sums.flatten(-3, -2)[..., :length, :], LinearState(last_sums, ends[..., -1]), guard


class _CausalSums(torch.autograd.Function):
    """The sums over keys at one level that each query sees; autograd would add up and copy many parts."""

    @staticmethod
    def forward(
        ctx: Any, features: torch.Tensor, keys: torch.Tensor, weighed: torch.Tensor, sums: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the sums (B, h, N, C, dv + 1), those before each chunk (B, h, N, F, dv + 1), and behind the last.

        Args:
            features: (B, h, N, C, F) features of the queries in N chunks of C.
            keys: (B, h, N, C, F) features of the keys.
            weighed: (B, h, N, C, dv + 1) values and a column of ones.
            sums: (B, h, F, dv + 1) sums of earlier keys.
        """
        products = (features @ keys.mT).tril_()
        before, last = _cumulate(keys.mT @ weighed, sums)
        ctx.save_for_backward(features, keys, weighed, products, before)
        ctx.mark_non_differentiable(before)
        # Bit for bit as where levels rise, which a later key decides.
        return (products @ weighed).add_(features @ before), before, last

    @staticmethod
    @refuse_second_derivative("linear attention")
    def backward(ctx: Any, gradient: torch.Tensor, _: Any, of_last: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the gradients of the four inputs."""
        features, keys, weighed, products, before = ctx.saved_tensors
        of_products = (gradient @ weighed.mT).tril_()
        # A chunk's sums are read by all later queries.
        after, of_sums = _cumulate((features.mT @ gradient).flip(2), of_last)
        after = after.flip(2)
        return (
            _add_product(of_products @ keys, gradient, before.mT),
            _add_product(of_products.mT @ features, weighed, after.mT),
            _add_product(products.mT @ gradient, keys, after),
            of_sums,
        )


def _sum_causally_in_kernels(
    features: torch.Tensor,
    keys: torch.Tensor,
    value: torch.Tensor,
    levels: torch.Tensor,
    state: LinearState | None,
    with_guard: bool,
) -> tuple[torch.Tensor, LinearState, torch.Tensor | None]:
    """Return what `_sum_causally_in_chunks` does, of keys (B, h, L, F) at their `levels` (B, h, L)."""
    if state is None:
        none = keys.new_zeros(*keys.shape[:2], keys.size(-1), value.size(-1) + 1)
        state = LinearState(none, levels[..., 0])
    all_levels = torch.cat((state.level.unsqueeze(-1), levels), dim=-1)
    weighted_sums, last_sums, guard = _FusedCausalSums.apply(  # type: ignore[no-untyped-call]
        features, keys, value, all_levels, state.sums, with_guard
    )
    return weighted_sums, LinearState(last_sums, levels[..., -1]), guard


class _FusedCausalSums(torch.autograd.Function):
    """The sums over keys that each query sees, in Triton; inputs as in `causal_sums_forward`."""

    @staticmethod
    def forward(
        ctx: Any,
        features: torch.Tensor,
        keys: torch.Tensor,
        value: torch.Tensor,
        levels: torch.Tensor,
        sums: torch.Tensor,
        with_guard: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return the sums (B, h, L, dv + 1), those behind the last key (B, h, F, dv + 1), and guards (B, h, L)."""
        weighted_sums, last, guard = causal_sums_forward(features, keys, value, levels, sums, with_guard)
        ctx.save_for_backward(features, keys, value, levels, sums)
        if guard is not None:
            ctx.mark_non_differentiable(guard)
        return weighted_sums, last, guard

    @staticmethod
    @refuse_second_derivative("linear attention")
    def backward(ctx: Any, gradient: torch.Tensor, of_last: torch.Tensor, _: Any) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of features, keys, values and the sums before, from the Triton kernels."""
        of_features, of_keys, of_value, of_sums = causal_sums_backward(gradient, of_last, *ctx.saved_tensors)
        return of_features, of_keys, of_value, None, of_sums, None


def _cumulate(terms: torch.Tensor, start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `start` plus the terms (B, h, N, ...) before each of N, and `start` plus all."""
    before = torch.empty_like(terms)
    for index, term in enumerate(terms.unbind(2)):
        before[:, :, index] = start
        start = start + term
    return before, start


def _add_product(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Add the matrix products of a and b to x (..., C, D) in place, and return it."""
    x.flatten(0, -3).baddbmm_(a.flatten(0, -3), b.flatten(0, -3))
    return x


def _choose_causal_levels(largest: torch.Tensor, state: LinearState | None) -> torch.Tensor:
    """Return the levels (B, h, L) that keys are scaled to: they depend on no later key, and seldom rise.

    They start at the `largest` log-feature (B, h, L) of the first key, and stay there until one is more than `RISE`
    above. So most keys of a text are at one level, and nothing has to be scaled from one to another.
    """
    running = largest.cummax(dim=-1).values
    if state is not None:
        running = torch.maximum(running, state.level.unsqueeze(-1))
    first = running[..., :1] if state is None else state.level.unsqueeze(-1)
    return torch.maximum(first, running - RISE)


def _may_differ(first: torch.Tensor, last: torch.Tensor) -> bool:
    """Return whether levels rise from `first` to `last`; True where it would take time to find out."""
    return torch.compiler.is_compiling() or first.device.type != "cpu" or not torch.equal(first, last)


def _append_ones_column(value: torch.Tensor) -> torch.Tensor:
    """Return `value` with a column of ones, so that one weighted sum gives numerator and denominator of attention."""
    return F.pad(value, (0, 1), value=1.0)


def _divide_by_last_column(sums: torch.Tensor, eps: float, signed: bool) -> torch.Tensor:
    """Return the sums (..., d) of weighted values, divided by the sum of weights in the last column.

    The divisor is kept away from 0 by `eps`; `signed` says that it may be negative.
    """
    if not torch.is_grad_enabled():
        return sums[..., :-1] / _find_divisor(sums, eps, signed)
    output: torch.Tensor = _DivisionByLastColumn.apply(sums, eps, signed)  # type: ignore[no-untyped-call]
    return output


def _find_divisor(sums: torch.Tensor, eps: float, signed: bool) -> torch.Tensor:
    """Return the last column (..., 1) of `sums`, kept away from 0 by `eps`."""
    total = sums[..., -1:]
    if signed:
        return torch.where(total.abs() < eps, torch.where(total < 0, -eps, eps), total)
    return total.clamp(min=eps)


class _DivisionByLastColumn(torch.autograd.Function):
    """`_divide_by_last_column`; autograd would fill and add two more tensors for the gradient."""

    @staticmethod
    def forward(ctx: Any, sums: torch.Tensor, eps: float, signed: bool) -> torch.Tensor:
        """Return the sums (..., d) divided by the last column."""
        divisor = _find_divisor(sums, eps, signed)
        output = sums[..., :-1] / divisor
        ctx.save_for_backward(output, divisor, divisor == sums[..., -1:])
        return output

    @staticmethod
    @refuse_second_derivative("linear attention")
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient of the sums."""
        output, divisor, varies = ctx.saved_tensors
        of_sums = gradient.new_empty(*output.shape[:-1], output.size(-1) + 1)
        torch.div(gradient, divisor, out=of_sums[..., :-1])
        of_sums[..., -1:] = (of_sums[..., :-1] * output).sum(dim=-1, keepdim=True).neg_() * varies
        return of_sums, None, None


def _cumulate_chunk_sums(
    state: LinearState, chunk_sums: torch.Tensor, ends: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sums before each of N chunks, (B, h, N, F, dv + 1), and the sums after the last chunk."""
    if torch.compiler.is_compiling():
        # A loop would fix N. This is quadratic in N, with a small factor.
        levels = torch.cat((state.level.unsqueeze(-1), ends), dim=-1)
        terms = torch.cat((state.sums.unsqueeze(2), chunk_sums), dim=2)
        # Row i is the state and the first i chunks, at the level after them.
        after = (_compute_causal_decay(levels, levels, 0) @ terms.flatten(-2)).view_as(terms)
        return after[..., :-1, :, :], after[..., -1, :, :]
    sums, level, before = state.sums, state.level, []
    for one, end in zip(chunk_sums.unbind(2), ends.unbind(-1), strict=True):
        before.append(sums)
        # addcmul takes many times as long with a factor for each matrix.
        sums = one + sums * (level - end).exp()[..., None, None]
        level = end
    return torch.stack(before, dim=2), sums


def _compute_causal_decay(query_levels: torch.Tensor, key_levels: torch.Tensor, num_before: int) -> torch.Tensor:
    """Return factors exp(r_j - r_i), (..., T, L), from the scale of key j to that of query i; 0 if i sees no j."""
    hidden = key_levels.new_full((query_levels.size(-1), key_levels.size(-1)), -torch.inf).triu(num_before + 1)
    # Levels never fall, so that differences to the keys that count are not above 0.
    return (key_levels.unsqueeze(-2) - query_levels.unsqueeze(-1)).add_(hidden).exp_()


def _find_largest_log_features(key: Features, mask: torch.Tensor | None) -> torch.Tensor:
    """Return the logarithm of each key's largest feature, (B, h, L), very low at padding, without gradient."""
    levels = key.offset.detach().squeeze(-1)
    if key.exponent is not None:
        levels = levels + key.exponent.detach().amax(dim=-1)
    if mask is not None:
        # Differences to it must be finite.
        levels = levels.masked_fill(~mask.unsqueeze(1), torch.finfo(levels.dtype).min / 4)
    return levels


def _evaluate_query_features(query: Features, eps: float) -> torch.Tensor:
    """Return the features of queries, scaled down by the largest exponent, plus `eps` unless they may be negative."""
    exponent = query.exponent
    if exponent is not None:
        # With its gradient: what eps adds is relative to the largest.
        largest = exponent.amax(dim=-1, keepdim=True)
        features = _multiply_by_exp(query.factor, exponent, -largest)
    else:
        features = _multiply_by_exp(query.factor, None, None)
    if query.signed:
        return features
    if exponent is None or features.requires_grad or torch.compiler.is_compiling():
        return features + eps
    return features.add_(eps)


def _evaluate_key_features(key: Features, levels: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Return the features of keys times their importance, scaled by exp(-levels) against overflow; 0 at padding."""
    offset = key.offset - levels.unsqueeze(-1)
    if mask is not None:
        # exp gives 0, and no gradient; at padding the offset may be anything.
        offset = offset.masked_fill(~mask[:, None, :, None], -torch.inf)
    return _multiply_by_exp(key.factor, key.exponent, offset)


def _multiply_by_exp(
    factor: torch.Tensor | None, exponent: torch.Tensor | None, offset: torch.Tensor | None
) -> torch.Tensor:
    """Return factor * exp(exponent + offset), where each may be None and is then left out."""
    parts = [part for part in (exponent, offset) if part is not None]
    if not parts:
        assert factor is not None
        return factor
    power = (parts[0] + parts[1]).exp_() if len(parts) == 2 else parts[0].exp()
    return power if factor is None else factor * power


def _compute_clamped_fraction(
    total: torch.Tensor,
    guard: torch.Tensor | None,
    mask: torch.Tensor | None,
    causal: bool,
    num_queries: int,
    eps: float,
    signed: bool,
    state: LinearState | None,
) -> torch.Tensor | None:
    """Return the share of queries whose sum of weights is so near 0 that `eps` changes it, or None without `guard`.

    `total` are the sums of weights and `guard` the sums of the keys' features, `eps` times which is added to `total`;
    both are (B, h, queries). Queries that see no key under `mask` (B, keys) do not count. `signed` says that the sums
    may be negative; with a `state`, keys of earlier calls are in them.
    """
    if guard is None:
        return None
    total = total.detach()
    low = total.abs() < eps if signed else total < 2 * eps * guard.detach()
    if mask is None or state is not None:
        return low.to(total.dtype).mean()
    # Queries that see no key do not count.
    seen = mask.cumsum(dim=1)[:, -num_queries:] if causal else mask.sum(dim=1, keepdim=True).expand(-1, num_queries)
    some = (seen > 0).unsqueeze(1).expand_as(low)
    return (low & some).sum().to(total.dtype) / some.sum().clamp(min=1)


def _check_sizes(batch: int, num_queries: int, num_keys: int, mask: torch.Tensor | None, causal: bool) -> None:
    """Raise ValueError for a mask that is not (B, keys), or more causal queries than keys."""
    if mask is not None and mask.shape != (batch, num_keys):
        raise ValueError(
            f"a mask of shape {tuple(mask.shape)} for {num_keys} keys: attention in linear time takes masks "
            "(batch, keys), and causal=True; it has no matrix of scores that any other mask could be applied to"
        )
    if causal and num_queries > num_keys:
        raise ValueError(f"{num_queries} causal queries of {num_keys} keys; expected at least as many keys as queries")


def _count_positions(features: Features) -> int:
    """Return the number n of tokens that the features stand for."""
    return features.offset.size(-2)
