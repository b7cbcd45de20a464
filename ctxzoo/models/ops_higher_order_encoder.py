"""Attention to pairs of keys (HSA): a query is compared with two keys at once, and takes the product of two values.

With queries q, keys k and second keys c of d numbers, values v and second values u (HSA, 1.1 to 1.5):

    s_ijl = <q_i, k_j, c_l> / sqrt(d),  A = softmax over all pairs (j, l),  out_i = sum_jl A_ijl (v_j * u_l)

`pair_attention` forms the pairs; with a `modulate_query` the mean over l is taken first, at the cost of pairwise
attention; `factorised_attention` replaces exp by features that are not negative, so that the double sum is a product of
two sums (the identity of factorisation machines, Rendle 2010); `anova_scores` are of higher order in the numbers of a
head.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch.nn import functional as F

from .ops_encoder import make_visibility_mask
from .ops_execution import call_with_recomputation, dropout

PairScore = Literal["trilinear", "volume"]

_VOLUME_FLOOR = 1e-12  # the root has no finite derivative at 0


# --- Pairs, exactly ---


def pair_scores(
    query: torch.Tensor, key: torch.Tensor, second: torch.Tensor, score: PairScore = "trilinear"
) -> torch.Tensor:
    """Return the score of each query with each pair, (..., T, J, L).

    Args:
        query: (..., T, d) queries.
        key: (..., T or 1, J, d) first keys, of each query or common to all.
        second: (..., T or 1, L, d) second keys, of each query or common to all.
        score: Kind of score: trilinear, sum_r q_r k_r c_r / sqrt(d); volume, the norm of (q.k) c - (q.c) k + (k.c) q
            (Clift et al. 2020), whose square is (q.k)^2 c.c + (k.c)^2 q.q + (q.c)^2 k.k - 2 (q.k) (q.c) (k.c).
    """
    query_row = query.unsqueeze(-2)
    if score == "trilinear":
        # <q, k, c> = (q * k).c: one product of (..., T, J, d) and (..., d, L).
        scaled: torch.Tensor = ((query_row * key) @ second.mT) / math.sqrt(query.size(-1))
        return scaled
    to_key = query_row @ key.mT  # (..., T, 1, J)
    to_second = query_row @ second.mT  # (..., T, 1, L)
    between = key @ second.mT  # (..., T or 1, J, L)
    squares = (
        to_key.mT.square() * second.square().sum(dim=-1).unsqueeze(-2)
        + between.square() * query.square().sum(dim=-1)[..., None, None]
        + to_second.square() * key.square().sum(dim=-1).unsqueeze(-1)
        - 2 * to_key.mT * to_second * between
    )  # (..., T, J, L); to_key.mT is (..., T, J, 1)
    # By rounding the polynomial may come out below 0.
    return (squares.clamp(min=0) + _VOLUME_FLOOR).sqrt()


def pair_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    second_key: torch.Tensor,
    second_value: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    score: PairScore = "trilinear",
    distinct: bool = False,
    rate: float = 0.0,
    training: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend to all pairs of keys: O(T L^2) in time and memory.

    Args:
        query, key, value: Queries (B, h, T, d), keys (B, h, L, d) and values (B, h, L, dv) in float32 or wider.
        second_key, second_value: Second keys c and second values u, with the shapes of key and value.
        mask: Boolean (B, L), True at real keys; a pair counts where both are.
        causal: Whether both keys have to stand at or before the query.
        score: Kind of score, trilinear or volume, as in `pair_scores`.
        distinct: Whether the keys of a pair have to differ.
        rate, training: Dropout rate on the weights, and whether dropout is on.

    Returns:
        out (B, h, T, dv), 0 for a query without a pair, and the weights (B, h, T, L, L) before dropout.
    """
    length = key.size(2)
    seen = make_visibility_mask(mask, query.size(2), length, causal, query.device).squeeze(1)  # (B or 1, T or 1, L)
    pairs = seen.unsqueeze(-1) & seen.unsqueeze(-2)  # (B or 1, T or 1, L, L)
    if distinct:
        pairs = pairs & ~torch.eye(length, dtype=torch.bool, device=query.device)
    scores = pair_scores(query, key.unsqueeze(2), second_key.unsqueeze(2), score)  # (B, h, T, L, L)
    weights = _compute_pair_softmax(scores, pairs.unsqueeze(1))
    dropped = dropout(weights, rate, training)
    return _sum_pair_values(dropped, value.unsqueeze(2), second_value.unsqueeze(2)), weights


def windowed_pair_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    second_key: torch.Tensor,
    second_value: torch.Tensor,
    window: tuple[int, int],
    mask: torch.Tensor | None = None,
    *,
    score: PairScore = "trilinear",
    distinct: bool = False,
    rate: float = 0.0,
    training: bool = False,
) -> torch.Tensor:
    """Attend to pairs of near keys, O(L w1 w2): j in (i - w1, i] and l in (i - w2, i], as in 2-simplicial attention.

    Args:
        window: Window sizes w1 and w2, at least 1; keys after the query are never seen.
        query, key, value, second_key, second_value, mask: Queries, both keys, both values and mask, as in
            `pair_attention`, with as many queries as keys.
        score, distinct, rate, training: Kind of score, whether keys differ, and dropout, as in `pair_attention`.

    Returns:
        out (B, h, L, dv), 0 for a query without a pair.
    """
    length = key.size(2)
    if not length:
        return value
    if mask is None:
        mask = torch.ones(key.size(0), length, dtype=torch.bool, device=key.device)
    first_width, second_width = window
    # The padding before the first key is False, so that no pair reaches it.
    visible = (
        _gather_windows(mask[:, None, :, None], first_width).squeeze(-1),
        _gather_windows(mask[:, None, :, None], second_width).squeeze(-1),
    )
    pairs = visible[0].unsqueeze(-1) & visible[1].unsqueeze(-2)  # (B, 1, L, w1, w2)
    if distinct:
        # Distances to the query, counted down to 0.
        distances = torch.arange(first_width - 1, -1, -1, device=key.device).unsqueeze(1)
        pairs = pairs & (distances != torch.arange(second_width - 1, -1, -1, device=key.device))
    scores = pair_scores(
        query, _gather_windows(key, first_width), _gather_windows(second_key, second_width), score
    )  # (B, h, L, w1, w2)
    weights = dropout(_compute_pair_softmax(scores, pairs), rate, training)
    return _sum_pair_values(weights, _gather_windows(value, first_width), _gather_windows(second_value, second_width))


def _compute_pair_softmax(scores: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Return the softmax over the last two dimensions among `pairs`; 0 elsewhere, and in a row without pairs."""
    # The lowest finite number, not -inf: a query without a pair is uniform, and then 0, instead of NaN.
    flat = scores.masked_fill(~pairs, torch.finfo(scores.dtype).min).flatten(-2)
    return flat.softmax(dim=-1).view_as(scores).masked_fill(~pairs, 0.0)


def _sum_pair_values(weights: torch.Tensor, value: torch.Tensor, second_value: torch.Tensor) -> torch.Tensor:
    """Sum the values of pairs, sum_jl A_ijl v_j * u_l, (B, h, T, dv), by weights (B, h, T, J, L)."""
    # The sum over l is a product, (B, h, T, J, dv): the products of all values v_j * u_l are never formed.
    products: torch.Tensor = ((weights @ second_value) * value).sum(dim=-2)
    return products


def _gather_windows(x: torch.Tensor, width: int) -> torch.Tensor:
    """Return the last `width` positions up to each, (B, h, L, width, .) of (B, h, L, .); 0 before the first."""
    padded = F.pad(x, (0, 0, width - 1, 0))  # (B, h, L + width - 1, .)
    # `unfold` puts the positions of a window last, behind the numbers of a key; it copies nothing.
    return padded.unfold(2, width, 1).mT


# --- One context for each query ---


def context_attention_weights(
    query: torch.Tensor, summary_key: torch.Tensor, mask: torch.Tensor | None, causal: bool
) -> torch.Tensor:
    """Return g (B, h, T, L), a softmax of q.a / sqrt(d) by which a query gathers its context m_i = sum_l g_il c_l.

    Each row sums to 1, or is 0 without keys.

    Args:
        query, summary_key: Queries q (B, h, T, d) and summary keys a (B, h, L, d) in float32 or wider.
        mask: Boolean (B, L), True at real keys.
        causal: Whether keys after the query are left out.
    """
    visible = make_visibility_mask(mask, query.size(2), summary_key.size(2), causal, query.device)
    energy = query @ summary_key.mT / math.sqrt(query.size(-1))  # (B, h, T, L)
    weights = energy.masked_fill(~visible, torch.finfo(energy.dtype).min).softmax(dim=-1)
    return weights.masked_fill(~visible, 0.0)


def modulate_query(query: torch.Tensor, modulation: torch.Tensor, strength: torch.Tensor) -> torch.Tensor:
    """Return queries q + lambda_h q * m, by which the score of a key is q.k + lambda_h sum_l g_il <q_i, k_j, c_l>.

    Args:
        query, modulation: Queries and their modulation by the context, (B, h, T, d) each.
        strength: (h,) strength lambda of the modulation in each head.
    """
    return query + strength[:, None, None] * query * modulation


# --- Products of sums ---

# Sums of all keys so far, (B, h, number of sums, M, dv + 1), and the real keys (B, 1).
FactorisedState = tuple[torch.Tensor, torch.Tensor]


def factorised_attention(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    values: Sequence[torch.Tensor],
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    distinct: bool = False,
    chunk_size: int = 32,
    eps: float = 1e-6,
    state: FactorisedState | None = None,
    with_state: bool = False,
) -> tuple[torch.Tensor, FactorisedState | None]:
    """Attend to tuples of n - 1 keys in time linear in their number, by products of sums.

    The weight of a tuple is sum_r phi(q_i)_r phi1(k_j)_r phi2(c_l)_r..., and its value v_j * u_l *... Sums are divided
    by the number of keys, which cancels, so that their products do not grow.

    Args:
        query: (B, h, T, M) features phi(q) of the queries, not negative, in float32 or wider.
        keys: Features of one to three kinds of keys, phi1(k), phi2(c), ..., (B, h, L, M) each, not negative.
        values: Values v, u, ..., (B, h, L, dv) each, one for each kind of keys.
        mask: Boolean (B, L), True at real keys.
        causal: Whether all keys of a tuple have to stand at or before the query; sums are then prefix sums.
        distinct: Whether the keys of a tuple have to differ, for which power sums are subtracted (Newton's identities).
        chunk_size: Number of queries whose prefix sums (M, dv) are in memory at a time.
        eps: Smallest denominator, relative to that of all tuples; below it only rounding errors are left.
        state: Cached state of earlier keys; causal only, with as many queries as keys.
        with_state: Whether to return the state after these keys; causal only.

    Returns:
        out (B, h, T, dv), 0 for a query without a tuple, and the state or None. It holds M (dv + 1) numbers for each
        sum: n - 1 of them, with `distinct` one for each set of factors.

    Raises:
        ValueError: none or more than three keys, another number of values, more causal queries than keys, or a state
            without causal or beside another number of queries.
    """
    order = len(keys) + 1
    if not 2 <= order <= 4 or len(values) != len(keys):
        raise ValueError(f"{len(keys)} keys and {len(values)} values; expected as many of both, one to three")
    num_queries, length = query.size(2), keys[0].size(2)
    if (state is not None or with_state) and not causal:
        raise ValueError("a state is of causal attention only; got causal=False")
    if causal and (num_queries > length or (state is not None and num_queries != length)):
        raise ValueError(
            f"{num_queries} causal queries of {length} keys{'' if state is None else ' beside a state'}; expected "
            "as many keys" + ("" if state is not None else ", or more")
        )
    if length == 0 or num_queries == 0:
        return values[0].new_zeros(*query.shape[:3], values[0].size(-1)), state
    real = query.new_ones(query.size(0), length) if mask is None else mask.to(query.dtype)
    # For each sum the features (B, h, L, M), 0 at padding, and (v, 1), whose column of ones makes denominators.
    pairs = [
        (
            _multiply_selected(keys, subset) * real[:, None, :, None],
            _append_ones_column(_multiply_selected(values, subset)),
        )
        for subset in _list_factor_subsets(order - 1, distinct)
    ]
    if not causal:
        sums = torch.stack([key.mT @ value for key, value in pairs], dim=2)  # (B, h, number of sums, M, dv + 1)
        products, total = _compute_tuple_means(sums, real.sum(dim=1)[:, None, None, None], order, distinct)
        output = _divide_by_last_column(query @ products, query @ total, eps)
        has_tuple = real.sum(dim=1) >= (order - 1 if distinct else 1)
        return output * has_tuple[:, None, None, None], None
    # Keys before that of the first query are seen by all queries: sums begin with theirs.
    before = length - num_queries
    sums = torch.stack([key[:, :, :before].mT @ value[:, :, :before] for key, value in pairs], dim=2)
    count = real[:, :before].sum(dim=1, keepdim=True)
    if state is not None:
        sums, count = state
    counts = count + real[:, before:].cumsum(dim=1)  # (B, T)
    stacked_keys = torch.stack([key[:, :, before:] for key, _ in pairs], dim=2)  # (B, h, number of sums, T, M)
    stacked_values = torch.stack([value[:, :, before:] for _, value in pairs], dim=2)
    # A compiled program has one chunk, since a loop over chunks would fix the number of queries.
    size = num_queries if torch.compiler.is_compiling() else chunk_size
    parts = []
    for begin in range(0, num_queries, size) if size != num_queries else (0,):
        rows = slice(begin, begin + size)
        arguments = query[:, :, rows], stacked_keys[..., rows, :], stacked_values[..., rows, :], sums, counts[:, rows]
        if torch.compiler.is_compiling():
            part, sums = _attend_causal_chunk(*arguments, order, distinct, eps)
        else:
            # So the prefix sums of one chunk only exist at a time in the backward pass too.
            part, sums = call_with_recomputation(_attend_causal_chunk, *arguments, order, distinct, eps)
        parts.append(part)
    has_tuple = counts >= (order - 1 if distinct else 1)
    output = torch.cat(parts, dim=2) * has_tuple[:, None, :, None]
    return output, (sums, counts[:, -1:]) if with_state else None


def _attend_causal_chunk(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    sums: torch.Tensor,
    counts: torch.Tensor,
    order: int,
    distinct: bool,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the output (B, h, C, dv) of a chunk of causal queries, and the sums over all keys up to its end.

    Args:
        keys, values: (B, h, number of sums, C, M) and (B, h, number of sums, C, dv + 1).
        sums: Sums over the keys before the chunk.
        counts: (B, C) numbers of real keys up to each query.
    """
    outer = keys.unsqueeze(-1) * values.unsqueeze(-2)  # (B, h, sums, C, M, dv + 1)
    prefixes = sums.unsqueeze(3) + outer.cumsum(dim=3)  # (B, h, number of sums, C, M, dv + 1)
    products, total = _compute_tuple_means(prefixes, counts[:, None, :, None, None], order, distinct)
    row = query.unsqueeze(-2)  # (B, h, C, 1, M)
    return _divide_by_last_column((row @ products).squeeze(-2), (row @ total).squeeze(-2), eps), prefixes[:, :, :, -1]


def _compute_tuple_means(
    sums: torch.Tensor, count: torch.Tensor, order: int, distinct: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means of products over tuples of keys, and their last column, from sums over single keys.

    Args:
        sums: (B, h, number of sums, ..., M, dv + 1) sums over keys, in the order of `_list_factor_subsets`.
        count: Number of keys, broadcastable to (B, h, ..., M, dv + 1).
    """
    number = count.clamp(min=1)
    p = [total / number for total in sums.unbind(2)]
    products = p[0]
    for mean in p[1 : order - 1]:
        products = products * mean
    if not distinct or order == 2:
        return products, products[..., -1:]
    # Tuples in which a key stands twice are taken away. p are means, so a sum over fewer keys lacks a 1 / number.
    if order == 3:
        return products - p[2] / number, products[..., -1:]
    a, b, c, ab, ac, bc, abc = p
    return products - (ab * c + ac * b + bc * a) / number + 2 * abc / number.square(), products[..., -1:]


def _divide_by_last_column(sums: torch.Tensor, total: torch.Tensor, eps: float) -> torch.Tensor:
    """Return sums of values over those of weights, the last column of `sums`, at least eps times `total`."""
    floor = (eps * total).clamp(min=torch.finfo(total.dtype).tiny)
    return sums[..., :-1] / torch.maximum(sums[..., -1:], floor)


def _list_factor_subsets(width: int, distinct: bool) -> list[tuple[int, ...]]:
    """Return which factors to multiply within each sum over keys: one, with `distinct` also two or three together."""
    single: list[tuple[int, ...]] = [(index,) for index in range(width)]
    if not distinct or width == 1:
        return single
    return [*single, (0, 1)] if width == 2 else [*single, (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def _multiply_selected(tensors: Sequence[torch.Tensor], indices: tuple[int, ...]) -> torch.Tensor:
    """Return the product, entry by entry, of the tensors with these indices."""
    product = tensors[indices[0]]
    for index in indices[1:]:
        product = product * tensors[index]
    return product


def _append_ones_column(value: torch.Tensor) -> torch.Tensor:
    """Return `value` (..., d) with a column of ones behind, (..., d + 1), whose sum counts the weights."""
    return torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)


# --- Higher order in the numbers of a head ---


def anova_kernels(left: torch.Tensor, right: torch.Tensor, order: int) -> list[torch.Tensor]:
    """Return A^0 to A^order of vectors, A^t(p, x) the sum over r1 < ... < rt of the products of p_r x_r (Blondel et al.
    2016), by dynamic programming.

    Args:
        left, right: (..., d) vectors, broadcastable to each other.
        order: Order t, 0 or above; A^t is 0 for t > d.

    Returns:
        order + 1 tensors of the common shape without the last dimension.

    Raises:
        ValueError: a negative order.
    """
    if order < 0:
        raise ValueError(f"the order of an ANOVA kernel is {order}, expected at least 0")
    shape = torch.broadcast_shapes(left.shape, right.shape)[:-1]  # type: ignore[no-untyped-call]
    kernels = [left.new_ones(shape), *(left.new_zeros(shape) for _ in range(order))]
    for p, x in zip(left.unbind(-1), right.unbind(-1), strict=True):
        product = p * x
        # Downwards, so that kernels[t - 1] is still without this product.
        for t in range(order, 0, -1):
            kernels[t] = kernels[t] + product * kernels[t - 1]
    return kernels


def anova_scores(query: torch.Tensor, key: torch.Tensor, strengths: torch.Tensor) -> torch.Tensor:
    """Return scores sum_t lambda_t A^t(q_i, k_j) / sqrt(binom(d, t)), (B, h, T, L), with lambda_1 = 1.

    Args:
        query, key: Queries (B, h, T, d) and keys (B, h, L, d) in float32 or wider.
        strengths: (h, m - 1) strengths lambda_2 to lambda_m of the orders; up to m = 2 two matrix products suffice.
    """
    size, order = query.size(-1), strengths.size(-1) + 1
    if order <= 2:
        kernels = [query @ key.mT]
        if order == 2:
            # Of (sum_r q_r k_r)^2 the squares go, and each other product is there twice.
            kernels.append((kernels[0].square() - query.square() @ key.square().mT) / 2)
    else:
        kernels = anova_kernels(query.unsqueeze(-2), key.unsqueeze(-3), order)[1:]  # (B, h, T, L) each
    scores = kernels[0] / math.sqrt(size)
    for t, kernel in enumerate(kernels[1:], start=2):
        if t <= size:
            scores = scores + strengths[:, t - 2, None, None] * kernel / math.sqrt(math.comb(size, t))
    return scores
