"""The heads of LAMA as fused Triton kernels: scores, tanh, norm over heads, softmax over words and weighted sums.

With the words u_t, and the factors Q of a document with its gate and the members of a head already summed, (r, m):

    f_t = tanh(u_t Q),  t_t = f_t / |f_t| over the heads,  A_t = exp(s t_t - s) / (sum over the words of it),

and the sums A^T H over the states. Logits lie in [-s, s], so that no maximum is needed, and what programs of one
document find is just added up. Beside A nothing of its size is kept: the backward pass computes f again from the words.

Sums are in float32 and have a fixed order (no atomics), so results repeat bit for bit on the same kind of device.

Triton is optional: without it this file imports, and the functions cannot be called.
"""

from typing import Any

import torch

from .ops_triton import (
    ceil_div,
    choose_block_size,
    count_target_programs,
    get_product_arguments,
    get_product_precision,
    load_tile,
    make_device_current,
    store_tile,
)

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # mostly on a machine without a GPU
    triton = None

# Where words are divided among programs, each has this many at least: fewer do not pay for combining.
_MIN_WORDS_PER_SPLIT = 128

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _tanh(x):  # type: ignore[no-untyped-def]
        """Return tanh x; near 0 by its series, as the quotient loses digits there that a norm of small f needs."""
        square = x * x
        series = x * (1 + square * (-1 / 3 + square * (2 / 15 + square * (-17 / 315 + square * (62 / 2835)))))
        return tl.where(square < 0.0625, series, 1 - 2 / (tl.exp(2 * x) + 1))

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _compute_bounded_scores(  # type: ignore[no-untyped-def]
        words_ptr, factors_ptr, rows, heads, num_left,
        R: tl.constexpr, M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_M: tl.constexpr,
        NORMALIZE: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Return f = tanh(u Q) of a block of words (words, heads), and the inverse of its length over the heads."""
        scores = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
        for first in range(0, R, BLOCK_R):
            ranks = first + tl.arange(0, BLOCK_R)
            words = load_tile(words_ptr, rows, ranks, R, 1, num_left, R).to(DOT)
            factors = load_tile(factors_ptr, ranks, heads, M, 1, R, M).to(DOT)
            scores = tl.dot(words, factors, scores, input_precision=PRECISION)
        bounded = _tanh(scores)  # 0 in heads that are none
        inverse = tl.full((BLOCK_N,), 1.0, tl.float32)
        if NORMALIZE:
            inverse = 1 / tl.maximum(tl.sqrt(tl.sum(bounded * bounded, axis=1)), 1e-12)
        return bounded, inverse

    @triton.jit(  # type: ignore[untyped-decorator, unused-ignore]
        do_not_specialize=["n", "num_splits", "words_per_split", "scale"]
    )
    def _forward_kernel(  # type: ignore[no-untyped-def]
        words_ptr, states_ptr, factors_ptr, mask_ptr, weights_ptr, totals_ptr, sums_ptr,
        factors_stride, n, num_splits, words_per_split, scale,
        R: tl.constexpr, M: tl.constexpr, D: tl.constexpr,
        BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
        NORMALIZE: tl.constexpr, ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute exp(s t - s) of a range of words, its sum, and the sum of the states that it weighs."""
        row = (tl.program_id(0) // num_splits).to(tl.int64)
        split = tl.program_id(0) % num_splits
        state_block = tl.program_id(1)
        rows = tl.arange(0, BLOCK_N)
        heads = tl.arange(0, BLOCK_M)
        columns = state_block * BLOCK_D + tl.arange(0, BLOCK_D)
        words_ptr += row * n * R
        states_ptr += row * n * D
        factors_ptr += row * factors_stride
        mask_ptr += row * n
        weights_ptr += row * n * M

        total = tl.zeros((BLOCK_M,), tl.float32)
        sums = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
        begin = split * words_per_split
        end = tl.minimum(begin + words_per_split, n)
        for start in range(begin, end, BLOCK_N):
            num_left = end - start
            offset = tl.cast(start, tl.int64)
            states = load_tile(states_ptr + offset * D, rows, columns, D, 1, num_left, D).to(DOT)
            real = tl.load(mask_ptr + start + rows, mask=rows < num_left, other=0) != 0
            bounded, inverse = _compute_bounded_scores(
                words_ptr + offset * R, factors_ptr, rows, heads, num_left,
                R, M, BLOCK_N, BLOCK_R, BLOCK_M, NORMALIZE, DOT, PRECISION,
            )  # fmt: skip
            weights = tl.where(real[:, None], tl.exp(bounded * (inverse * scale)[:, None] - scale), 0.0)
            if state_block == 0:  # every block of states computes them, one stores them
                store_tile(weights_ptr + offset * M, weights, rows, heads, M, num_left, M)
            total += tl.sum(weights, axis=0)
            sums = tl.dot(tl.trans(weights.to(ROUND).to(DOT)), states, sums, input_precision=PRECISION)
        part = row * num_splits + split
        if state_block == 0:
            tl.store(totals_ptr + part * M + heads, total, mask=heads < M)
        store_tile(sums_ptr + part * M * D, sums, heads, columns, D, M, D)

    @triton.jit(do_not_specialize=["n", "scale"])  # type: ignore[untyped-decorator, unused-ignore]
    def _score_gradient_kernel(  # type: ignore[no-untyped-def]
        words_ptr, states_ptr, factors_ptr, weights_ptr, of_sums_ptr, of_weights_ptr, means_ptr, of_scores_ptr,
        factors_stride, n, scale,
        R: tl.constexpr, M: tl.constexpr, D: tl.constexpr,
        BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
        SUMS: tl.constexpr, WEIGHTS: tl.constexpr,
        NORMALIZE: tl.constexpr, ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute the gradient of the scores u Q of a block of words from those of the sums and of the weights."""
        num_blocks = tl.cdiv(n, BLOCK_N)
        row = (tl.program_id(0) // num_blocks).to(tl.int64)
        start = (tl.program_id(0) % num_blocks) * BLOCK_N
        offset = row * n + start
        num_left = n - start
        rows = tl.arange(0, BLOCK_N)
        heads = tl.arange(0, BLOCK_M)
        of_sums_ptr += row * (M * D)

        # The gradient of A: H_t . dS_j, and what comes from outside.
        grad = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
        if SUMS:
            for first in range(0, D, BLOCK_D):
                columns = first + tl.arange(0, BLOCK_D)
                states = load_tile(states_ptr + offset * D, rows, columns, D, 1, num_left, D).to(DOT)
                of_sums = load_tile(of_sums_ptr, heads, columns, D, 1, M, D).to(DOT)
                grad = tl.dot(states, tl.trans(of_sums), grad, input_precision=PRECISION)
        if WEIGHTS:
            grad += load_tile(of_weights_ptr + offset * M, rows, heads, M, 1, num_left, M)
        # Of the softmax: A (g - sum over the words of A g).
        weights = load_tile(weights_ptr + offset * M, rows, heads, M, 1, num_left, M)
        means = tl.load(means_ptr + row * M + heads, mask=heads < M, other=0.0)
        grad = weights * (grad - means[None, :]) * scale
        bounded, inverse = _compute_bounded_scores(
            words_ptr + offset * R, factors_ptr + row * factors_stride, rows, heads, num_left,
            R, M, BLOCK_N, BLOCK_R, BLOCK_M, NORMALIZE, DOT, PRECISION,
        )  # fmt: skip
        if NORMALIZE:
            # Of f / |f|: (g - f <g, f> / |f|^2) / |f|.
            along = tl.sum(grad * bounded, axis=1) * inverse * inverse
            grad = (grad - bounded * along[:, None]) * inverse[:, None]
        grad *= 1 - bounded * bounded
        store_tile(of_scores_ptr + offset * M, grad, rows, heads, M, num_left, M)


def low_rank_heads_forward(
    words: torch.Tensor,
    states: torch.Tensor,
    factors: torch.Tensor,
    mask: torch.Tensor,
    normalize: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the weighted sums and the weights. All tensors are on a device where `can_run` is True.

    Args:
        words: (B, n, r) words u.
        states: (B, n, D) states H.
        factors: (B, r, m) factors Q of each document, or (1, r, m) of all.
        mask: Boolean (B, n), True at words.
        normalize: Whether the logits of a word are divided by their length over the heads.
        scale: Factor s of the logits.

    Returns:
        A^T H (B, m, D) and A (B, n, m), both in float32; 0 for a document without words.
    """
    batch, n, _ = words.shape
    heads, width = factors.size(2), states.size(2)
    arguments = _choose_kernel_arguments(words, states, factors)
    state_blocks = ceil_div(width, arguments["BLOCK_D"])
    # A long document in a small batch is divided among programs.
    num_splits = min(ceil_div(count_target_programs(words), batch * state_blocks), max(n // _MIN_WORDS_PER_SPLIT, 1))
    words_per_split = ceil_div(ceil_div(n, num_splits), arguments["BLOCK_N"]) * arguments["BLOCK_N"]
    num_splits = ceil_div(n, words_per_split)

    weights = torch.empty(batch, n, heads, dtype=torch.float32, device=words.device)
    totals = torch.empty(batch, num_splits, heads, dtype=torch.float32, device=words.device)
    sums = torch.empty(batch, num_splits, heads, width, dtype=torch.float32, device=words.device)
    with make_device_current(words):
        _forward_kernel[(batch * num_splits, state_blocks)](
            words.contiguous(), states.contiguous(), factors.contiguous(), mask.contiguous().view(torch.uint8),
            weights, totals, sums, _get_document_stride(factors), n, num_splits, words_per_split, scale,
            NORMALIZE=normalize, **arguments,
        )  # fmt: skip
    inverse = totals.sum(dim=1).clamp_min_(1e-36).reciprocal_()
    return sums.sum(dim=1).mul_(inverse.unsqueeze(2)), weights.mul_(inverse.unsqueeze(1))


def score_gradient(
    grad_sums: torch.Tensor | None,
    grad_weights: torch.Tensor | None,
    words: torch.Tensor,
    states: torch.Tensor,
    factors: torch.Tensor,
    sums: torch.Tensor,
    weights: torch.Tensor,
    normalize: bool,
    scale: float,
) -> torch.Tensor:
    """Compute the gradient of the scores u Q, (B, n, m), in the type of the words.

    Args:
        grad_sums, grad_weights: Gradients of the sums (B, m, D) and of the weights (B, n, m); one may be None.
        words, states, factors, normalize, scale: Inputs of `low_rank_heads_forward`.
        sums, weights: What it returned.
    """
    batch, n, _ = words.shape
    # The mean of dL/dA under A, over the words of a document, (B, m).
    means = torch.zeros(batch, factors.size(2), dtype=torch.float32, device=words.device)
    if grad_sums is not None:
        means += (grad_sums.float() * sums).sum(dim=2)
    if grad_weights is not None:
        means += (grad_weights * weights).sum(dim=1)
    of_scores = torch.empty(weights.shape, dtype=words.dtype, device=words.device)
    arguments = _choose_kernel_arguments(words, states, factors)
    with make_device_current(words):
        _score_gradient_kernel[(batch * ceil_div(n, arguments["BLOCK_N"]),)](
            words.contiguous(), states.contiguous(), factors.contiguous(), weights,
            sums if grad_sums is None else grad_sums.contiguous(),
            weights if grad_weights is None else grad_weights.contiguous(),
            means, of_scores, _get_document_stride(factors), n, scale,
            SUMS=grad_sums is not None, WEIGHTS=grad_weights is not None, NORMALIZE=normalize, **arguments,
        )  # fmt: skip
    return of_scores


def _get_document_stride(factors: torch.Tensor) -> int:
    """Return the numbers from the factors of one document to those of the next: 0 where all have the same."""
    return 0 if factors.size(0) == 1 else factors.size(1) * factors.size(2)


def _choose_kernel_arguments(words: torch.Tensor, states: torch.Tensor, factors: torch.Tensor) -> dict[str, Any]:
    """Return the sizes and the blocks of both kernels for words (B, n, r), states (B, n, D) and factors (., r, m)."""
    full = get_product_precision(words.dtype) == "ieee"
    num_ranks, heads = factors.shape[1:]
    # All heads of a word are in one block, for the norm over them; the more they are, the fewer words are beside them.
    block_m = max(16, triton.next_power_of_2(heads))
    return {
        "R": num_ranks,
        "M": heads,
        "D": states.size(2),
        "BLOCK_M": block_m,
        "BLOCK_N": choose_block_size(words.size(1), max(16, min(2048 // block_m, 32 if full else 64))),
        "BLOCK_R": choose_block_size(num_ranks, 32 if full else 64),
        "BLOCK_D": choose_block_size(states.size(2), 64 if full else 128),
        **get_product_arguments(words.dtype),
        "num_warps": 4,
        "num_stages": 2,
    }
