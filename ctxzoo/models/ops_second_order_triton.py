"""One step of second-order attention (Maupomé & Meurs 2021) as fused Triton kernels, forward and backward.

With p = x U^T and q = c V^T computed outside, one step is

    logits_bij = sum_r W_jr p_bir q_br,  a_bij = softmax of logits over the real tokens i,  out_bj = sum_i a_bij x_bij.

Plain PyTorch stores logits, a and products of the size of x, several times over. Here no tensor of that size is stored
but the gradient of x: the forward pass is an online softmax over blocks of tokens that keeps `out` and the log-sum-exp,
and the backward pass computes a again from them.

All kernels multiply the same pair of operands, p and W_jr q_br rounded to the type of p. So the logits of the backward
pass are those of the forward pass also in bfloat16, where another order of rounding would give weights that do not sum
to one. Sums are in float32; the type of p decides how the products are computed:

    bfloat16: operands are bfloat16.
    float16: operands are TF32, which hold every float16 exactly, and W q or a small gradient cannot leave their range.
    float32: operands are TF32 where `torch.backends.cuda.matmul.allow_tf32` is set; otherwise IEEE float32, which no
        tensor core offers and which is far slower.

Every sum has a fixed order (no atomics), so results repeat bit for bit on the same kind of device.

Triton is optional: without it this file imports, and the two functions raise.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch

from .ops_triton import (
    KERNEL_DTYPES,
    PROGRAMS_PER_PROCESSOR,
    can_run,
    ceil_div,
    choose_block_size,
    count_target_programs,
    get_product_arguments,
    get_product_precision,
    load_tile,
    make_device_current,
)

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # mostly on a machine without a GPU
    triton = None

# Where tokens are divided among programs, each has this many at least: fewer do not pay for loading W and combining.
_MIN_TOKENS_PER_SPLIT = 128

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _weight_times_q(  # type: ignore[no-untyped-def]
        weight_ptr, q_ptr, features, ranks, M: tl.constexpr, U: tl.constexpr, ROUND: tl.constexpr, DOT: tl.constexpr
    ):
        """Return the products W_jr q_r (features, ranks) as an operand of tl.dot; zero outside of (m, u)."""
        inside = (features < M)[:, None] & (ranks < U)[None, :]
        weight = tl.load(weight_ptr + features[:, None] * U + ranks[None, :], mask=inside, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + ranks, mask=ranks < U, other=0.0).to(tl.float32)
        return (weight * q[None, :]).to(ROUND).to(DOT)

    @triton.jit(  # type: ignore[untyped-decorator, unused-ignore]
        do_not_specialize=["n", "batch", "num_splits", "tokens_per_split"]
    )
    def _forward_kernel(  # type: ignore[no-untyped-def]
        x_ptr, p_ptr, q_ptr, weight_ptr, mask_ptr, out_ptr, lse_ptr, partial_ptr,
        x_stride_b, x_stride_n, x_stride_m, p_stride_b, p_stride_n, p_stride_u,
        batch, n, num_splits, tokens_per_split,
        SPLIT: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_U: tl.constexpr, NUM_U: tl.constexpr,
        M: tl.constexpr, U: tl.constexpr, X_ALIGN: tl.constexpr, P_ALIGN: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute the online softmax of one row, one block of features and one range of tokens.

        Tiles are (features, tokens): then a row of a tile lies in few threads and its maximum needs no shared memory.
        """
        # Programs of one row and range are neighbours: they read the same p, all but the first from the L2 cache.
        pid = tl.program_id(0)
        feature_blocks = tl.cdiv(M, BLOCK_M)
        feature_block = pid % feature_blocks
        split = (pid // feature_blocks) % num_splits
        row = (pid // feature_blocks // num_splits).to(tl.int64)

        features = feature_block * BLOCK_M + tl.arange(0, BLOCK_M)
        ranks = tl.arange(0, BLOCK_U)
        x_ptr += row * x_stride_b * X_ALIGN
        p_ptr += row * p_stride_b * P_ALIGN
        q_ptr += row * U
        mask_ptr += row * n

        top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
        total = tl.zeros((BLOCK_M,), tl.float32)
        summed = tl.zeros((BLOCK_M,), tl.float32)
        if NUM_U == 1:
            operand = _weight_times_q(weight_ptr, q_ptr, features, ranks, M, U, ROUND, DOT)
        begin = split * tokens_per_split
        end = tl.minimum(begin + tokens_per_split, n)
        for start in range(begin, end, BLOCK_N):
            # Only the start of the block is a 64-bit number: the offsets inside it stay small.
            tokens = tl.arange(0, BLOCK_N)
            num_left = end - start
            x_block = x_ptr + tl.cast(start, tl.int64) * x_stride_n * X_ALIGN
            p_block = p_ptr + tl.cast(start, tl.int64) * p_stride_n * P_ALIGN
            # The load is issued before the product, so that the tile arrives during it.
            x_tile = tl.load(
                x_block + tokens[None, :] * (x_stride_n * X_ALIGN) + features[:, None] * x_stride_m,
                mask=(features < M)[:, None] & (tokens < num_left)[None, :],
                other=0.0,
            )
            real = tl.load(mask_ptr + start + tokens, mask=tokens < num_left, other=0) != 0
            if NUM_U == 1:
                p_tile = load_tile(p_block, tokens, ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U).to(DOT)
                logits = tl.dot(operand, tl.trans(p_tile), input_precision=PRECISION)
            else:
                logits = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
                for part in range(NUM_U):
                    part_ranks = part * BLOCK_U + ranks
                    operand = _weight_times_q(weight_ptr, q_ptr, features, part_ranks, M, U, ROUND, DOT)
                    p_tile = load_tile(p_block, tokens, part_ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U).to(
                        DOT
                    )
                    logits = tl.dot(operand, tl.trans(p_tile), logits, input_precision=PRECISION)
            logits = tl.where(real[None, :], logits, float("-inf"))
            new_top = tl.maximum(top, tl.max(logits, axis=1))
            # As long as no real token has been seen, the maximum is -inf, and -inf - -inf is no number.
            shift = tl.where(new_top == float("-inf"), 0.0, new_top)
            # What was summed below the old maximum is brought to the new one.
            keep = tl.exp(top - shift)
            exponentials = tl.exp(logits - shift[:, None])
            total = total * keep + tl.sum(exponentials, axis=1)
            summed = summed * keep + tl.sum(exponentials * x_tile.to(tl.float32), axis=1)
            top = new_top

        inside = features < M
        if SPLIT:
            plane = num_splits.to(tl.int64) * batch * M  # numbers of one kind, of all splits
            place = (split.to(tl.int64) * batch + row) * M + features
            tl.store(partial_ptr + place, top, mask=inside)
            tl.store(partial_ptr + plane + place, total, mask=inside)
            tl.store(partial_ptr + 2 * plane + place, summed, mask=inside)
        else:
            # A row without a real token has a total of 0, and 0 for both results.
            divisor = tl.where(total > 0.0, total, 1.0)
            tl.store(out_ptr + row * M + features, summed / divisor, mask=inside)
            lse = tl.where(total > 0.0, top + tl.log(divisor), 0.0)
            tl.store(lse_ptr + row * M + features, lse, mask=inside)

    @triton.jit(do_not_specialize=["size", "num_splits"])  # type: ignore[untyped-decorator, unused-ignore]
    def _combine_kernel(  # type: ignore[no-untyped-def]
        partial_ptr, out_ptr, lse_ptr, size, num_splits, BLOCK: tl.constexpr
    ):
        """Compute out and lse from the (maximum, sum, weighted sum) of every split; `size` is B m."""
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = place < size
        plane = num_splits.to(tl.int64) * size
        top = tl.full((BLOCK,), float("-inf"), tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        summed = tl.zeros((BLOCK,), tl.float32)
        for _ in range(num_splits):
            other_top = tl.load(partial_ptr + place, mask=inside, other=float("-inf"))
            other_total = tl.load(partial_ptr + plane + place, mask=inside, other=0.0)
            other_summed = tl.load(partial_ptr + 2 * plane + place, mask=inside, other=0.0)
            new_top = tl.maximum(top, other_top)
            shift = tl.where(new_top == float("-inf"), 0.0, new_top)
            keep, add = tl.exp(top - shift), tl.exp(other_top - shift)
            total = total * keep + other_total * add
            summed = summed * keep + other_summed * add
            top = new_top
            partial_ptr += size  # to the next split
        divisor = tl.where(total > 0.0, total, 1.0)
        tl.store(out_ptr + place, summed / divisor, mask=inside)
        tl.store(lse_ptr + place, tl.where(total > 0.0, top + tl.log(divisor), 0.0), mask=inside)

    @triton.jit(do_not_specialize=["n"])  # type: ignore[untyped-decorator, unused-ignore]
    def _token_gradients_kernel(  # type: ignore[no-untyped-def]
        grad_ptr, x_ptr, p_ptr, q_ptr, weight_ptr, mask_ptr, out_ptr, lse_ptr, dx_ptr, dp_ptr,
        x_stride_b, x_stride_n, x_stride_m, p_stride_b, p_stride_n, p_stride_u,
        n,
        BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_U: tl.constexpr, NUM_U: tl.constexpr,
        M: tl.constexpr, U: tl.constexpr, X_ALIGN: tl.constexpr, P_ALIGN: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute dx and dp of one block of tokens in a loop over features. Tiles are (tokens, features)."""
        pid = tl.program_id(0)
        rank_block = tl.program_id(1)
        token_blocks = tl.cdiv(n, BLOCK_N)
        row = (pid // token_blocks).to(tl.int64)
        start = (pid % token_blocks) * BLOCK_N

        tokens = tl.arange(0, BLOCK_N)
        num_left = n - start
        ranks = tl.arange(0, BLOCK_U)
        own_ranks = rank_block * BLOCK_U + ranks
        x_ptr += row * x_stride_b * X_ALIGN + tl.cast(start, tl.int64) * x_stride_n * X_ALIGN
        p_ptr += row * p_stride_b * P_ALIGN + tl.cast(start, tl.int64) * p_stride_n * P_ALIGN
        dx_ptr += (row * n + start) * M
        dp_ptr += (row * n + start) * U
        q_ptr += row * U
        real = tl.load(mask_ptr + row * n + start + tokens, mask=tokens < num_left, other=0) != 0

        dp = tl.zeros((BLOCK_N, BLOCK_U), tl.float32)
        if NUM_U == 1:
            p_tile = load_tile(p_ptr, tokens, ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U).to(DOT)
        for first in range(0, M, BLOCK_M):
            features = first + tl.arange(0, BLOCK_M)
            inside = features < M
            x_tile = load_tile(x_ptr, tokens, features, x_stride_n * X_ALIGN, x_stride_m, num_left, M).to(tl.float32)
            own_weights = _weight_times_q(weight_ptr, q_ptr, features, own_ranks, M, U, ROUND, DOT)
            if NUM_U == 1:
                logits = tl.dot(p_tile, tl.trans(own_weights), input_precision=PRECISION)
            else:
                logits = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
                for part in range(NUM_U):
                    part_ranks = part * BLOCK_U + ranks
                    operand = _weight_times_q(weight_ptr, q_ptr, features, part_ranks, M, U, ROUND, DOT)
                    p_tile = load_tile(p_ptr, tokens, part_ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U).to(DOT)
                    logits = tl.dot(p_tile, tl.trans(operand), logits, input_precision=PRECISION)
            grad = tl.load(grad_ptr + row * M + features, mask=inside, other=0.0).to(tl.float32)
            out = tl.load(out_ptr + row * M + features, mask=inside, other=0.0).to(tl.float32)
            lse = tl.load(lse_ptr + row * M + features, mask=inside, other=0.0)
            # exp(logit - lse) is a, without a second softmax; times the gradient it is dx.
            dx = tl.exp(tl.where(real[:, None], logits - lse[None, :], float("-inf"))) * grad[None, :]
            if rank_block == 0:  # every block of ranks computes it, one stores it
                tl.store(
                    dx_ptr + tokens[:, None] * M + features[None, :],
                    dx.to(dx_ptr.dtype.element_ty),
                    mask=(tokens < num_left)[:, None] & inside[None, :],
                )
            dlogits = dx * (x_tile - out[None, :])  # a g (x - out)
            # With W q instead of W the product is dp itself, and one tile serves both products.
            dp = tl.dot(dlogits.to(DOT), own_weights, dp, input_precision=PRECISION)
        tl.store(
            dp_ptr + tokens[:, None] * U + own_ranks[None, :],
            dp.to(dp_ptr.dtype.element_ty),
            mask=(tokens < num_left)[:, None] & (own_ranks < U)[None, :],
        )

    @triton.jit(  # type: ignore[untyped-decorator, unused-ignore]
        do_not_specialize=["n", "batch", "rows_per_group", "num_splits", "tokens_per_split"]
    )
    def _weight_gradients_kernel(  # type: ignore[no-untyped-def]
        grad_ptr, x_ptr, p_ptr, q_ptr, weight_ptr, mask_ptr, out_ptr, lse_ptr, dweight_ptr, dq_ptr,
        x_stride_b, x_stride_n, x_stride_m, p_stride_b, p_stride_n, p_stride_u,
        batch, n, rows_per_group, num_splits, tokens_per_split,
        BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_U: tl.constexpr, NUM_U: tl.constexpr,
        M: tl.constexpr, U: tl.constexpr, X_ALIGN: tl.constexpr, P_ALIGN: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute parts of dW and dq from a group of rows, one block of features and one range of tokens.

        Both follow from Z_bjr = sum_i dlogit_bij p_bir: dW_jr = sum_b q_br Z_bjr and dq_br = sum_j W_jr Z_bjr.
        Tiles are (features, tokens).
        """
        pid = tl.program_id(0)
        rank_block = tl.program_id(1)
        feature_blocks = tl.cdiv(M, BLOCK_M)
        feature_block = pid % feature_blocks
        split = (pid // feature_blocks) % num_splits
        group = pid // feature_blocks // num_splits

        features = feature_block * BLOCK_M + tl.arange(0, BLOCK_M)
        inside = features < M
        ranks = tl.arange(0, BLOCK_U)
        own_ranks = rank_block * BLOCK_U + ranks
        inside_weight = inside[:, None] & (own_ranks < U)[None, :]
        begin = split * tokens_per_split
        end = tl.minimum(begin + tokens_per_split, n)

        dweight = tl.zeros((BLOCK_M, BLOCK_U), tl.float32)
        first_row = group * rows_per_group
        # Nothing is moved out of this loop: the addresses of W, needed once a row, would hold registers throughout.
        for row_number in tl.range(first_row, tl.minimum(first_row + rows_per_group, batch), disable_licm=True):
            row = tl.cast(row_number, tl.int64)
            x_row = x_ptr + row * x_stride_b * X_ALIGN
            p_row = p_ptr + row * p_stride_b * P_ALIGN
            q_row = q_ptr + row * U
            grad = tl.load(grad_ptr + row * M + features, mask=inside, other=0.0).to(tl.float32)
            out = tl.load(out_ptr + row * M + features, mask=inside, other=0.0).to(tl.float32)
            lse = tl.load(lse_ptr + row * M + features, mask=inside, other=0.0)
            if NUM_U == 1:
                operand = _weight_times_q(weight_ptr, q_row, features, ranks, M, U, ROUND, DOT)
            z = tl.zeros((BLOCK_M, BLOCK_U), tl.float32)
            for start in range(begin, end, BLOCK_N):
                tokens = tl.arange(0, BLOCK_N)
                num_left = end - start
                x_block = x_row + tl.cast(start, tl.int64) * x_stride_n * X_ALIGN
                p_block = p_row + tl.cast(start, tl.int64) * p_stride_n * P_ALIGN
                x_tile = tl.load(
                    x_block + tokens[None, :] * (x_stride_n * X_ALIGN) + features[:, None] * x_stride_m,
                    mask=inside[:, None] & (tokens < num_left)[None, :],
                    other=0.0,
                )
                real = tl.load(mask_ptr + row * n + start + tokens, mask=tokens < num_left, other=0) != 0
                own_tile = load_tile(p_block, tokens, own_ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U).to(DOT)
                if NUM_U == 1:
                    logits = tl.dot(operand, tl.trans(own_tile), input_precision=PRECISION)
                else:
                    logits = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
                    for part in range(NUM_U):
                        part_ranks = part * BLOCK_U + ranks
                        operand = _weight_times_q(weight_ptr, q_row, features, part_ranks, M, U, ROUND, DOT)
                        p_tile = load_tile(
                            p_block, tokens, part_ranks, p_stride_n * P_ALIGN, p_stride_u, num_left, U
                        ).to(DOT)
                        logits = tl.dot(operand, tl.trans(p_tile), logits, input_precision=PRECISION)
                attention = tl.exp(tl.where(real[None, :], logits - lse[:, None], float("-inf")))
                dlogits = attention * grad[:, None] * (x_tile.to(tl.float32) - out[:, None])
                z = tl.dot(dlogits.to(DOT), own_tile, z, input_precision=PRECISION)
            at_weight = features[:, None] * U + own_ranks[None, :]
            weight = tl.load(weight_ptr + at_weight, mask=inside_weight, other=0.0).to(tl.float32)
            # dq is a sum over features and tokens: each block and split writes a part.
            at_dq = ((row * num_splits + split) * feature_blocks + feature_block) * U + own_ranks
            tl.store(dq_ptr + at_dq, tl.sum(z * weight, axis=0), mask=own_ranks < U)
            q = tl.load(q_row + own_ranks, mask=own_ranks < U, other=0.0).to(tl.float32)
            dweight += z * q[None, :]
        part_number = (group * num_splits + split).to(tl.int64)
        dweight_ptr += part_number * M * U
        tl.store(dweight_ptr + features[:, None] * U + own_ranks[None, :], dweight, mask=inside_weight)


@dataclass(frozen=True)
class _Tiles:
    """The sizes of the tiles of one kernel, in tokens, features and ranks, and how it is launched."""

    n: int
    m: int
    u: int
    num_warps: int
    num_stages: int


def second_order_forward(
    x: torch.Tensor, p: torch.Tensor, q: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute one step of second-order attention.

    Args:
        x: (B, n, m) tokens.
        p: (B, n, u) projected tokens x U^T.
        q: (B, u) gate c V^T of the context.
        weight: (m, u) output weights W.
        mask: Boolean (B, n), True at real tokens; elsewhere x and p may have any finite values.

    x, p, q and weight are float32, bfloat16 or float16, not necessarily the same, with any strides; B, n, m and u are
    at least 1. Above u = 128 the weights are read again for every block of tokens: it works, but slower.

    Returns:
        out (B, m) and lse (B, m), the log-sum-exp of the logits over the real tokens, both float32 whatever the inputs
        (they are small, and the backward pass needs them unrounded). Both are 0 for a row without real tokens.

    Raises:
        RuntimeError: Triton is missing, or the tensors are on a device that it does not serve.
        TypeError: float64, or a mask that is not boolean.
        ValueError: shapes or devices that do not fit, or an empty dimension.
    """
    _check_inputs(x, p, q, weight, mask)
    batch, n, m = x.shape
    u = p.size(2)
    tiles = _choose_forward_tiles(n, m, u, p.dtype)
    # A long document in a small batch has fewer (row, block of features) pairs than the device has processors: then
    # its tokens are divided among programs, and a second kernel combines what they found.
    per_split = batch * ceil_div(m, tiles.m)
    num_splits = min(ceil_div(count_target_programs(x), per_split), max(n // _MIN_TOKENS_PER_SPLIT, 1))
    tokens_per_split = ceil_div(ceil_div(n, num_splits), tiles.n) * tiles.n
    num_splits = ceil_div(n, tokens_per_split)

    out = torch.empty(batch, m, dtype=torch.float32, device=x.device)
    lse = torch.empty_like(out)
    # (maximum, sum, weighted sum) of every split; a stand-in where there is only one.
    partial = torch.empty(3, num_splits, batch, m, dtype=torch.float32, device=x.device) if num_splits > 1 else out
    with make_device_current(x):
        _forward_kernel[(num_splits * per_split,)](
            x, p, q.contiguous(), weight.contiguous(), mask.contiguous().view(torch.uint8), out, lse, partial,
            *_get_kernel_strides(x), *_get_kernel_strides(p), batch, n, num_splits, tokens_per_split,
            SPLIT=num_splits > 1, **_build_kernel_arguments(tiles, x, p),
        )  # fmt: skip
        if num_splits > 1:
            block = 128
            _combine_kernel[(ceil_div(batch * m, block),)](
                partial, out, lse, batch * m, num_splits, BLOCK=block, num_warps=4
            )
    return out, lse


def second_order_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    p: torch.Tensor,
    q: torch.Tensor,
    weight: torch.Tensor,
    mask: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the gradients of `second_order_forward`, with p taken as independent of x.

    Beside the results it allocates float32 parts of dW and dq: those of dW are bounded by the size of W or a few
    megabytes, whichever is more, and those of dq by (B, u) times the programs that share a row.

    Args:
        grad: (B, m) gradient of the output.
        x, p, q, weight, mask: Tokens, projected tokens, gate, weights and mask, as in `second_order_forward`.
        out, lse: Output and log-sum-exp that `second_order_forward` returned, (B, m) each.

    Returns:
        dx (B, n, m), the direct part a * grad; dp (B, n, u); dq (B, u); dweight (m, u). Each in the dtype of its input
        and contiguous; zero for tokens that are not real.

    Raises:
        RuntimeError, TypeError, ValueError: see `second_order_forward`.
    """
    _check_inputs(x, p, q, weight, mask)
    for name, tensor in {"grad": grad, "out": out, "lse": lse}.items():
        _check_tensor(name, tensor, (x.size(0), x.size(2)), x.device)
    batch, n, m = x.shape
    u = p.size(2)
    inputs = (
        grad.contiguous(), x, p, q.contiguous(), weight.contiguous(), mask.contiguous().view(torch.uint8),
        out.contiguous(), lse.float().contiguous(),
    )  # fmt: skip

    tiles = _choose_token_gradient_tiles(batch, n, m, u, p.dtype, count_target_programs(x))
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    dp = torch.empty(p.shape, dtype=p.dtype, device=p.device)
    with make_device_current(x):
        _token_gradients_kernel[(batch * ceil_div(n, tiles.n), ceil_div(u, tiles.u))](
            *inputs, dx, dp, *_get_kernel_strides(x), *_get_kernel_strides(p), n, **_build_kernel_arguments(tiles, x, p)
        )

    # Each program adds up a group of rows, or with few rows a range of tokens of one, and owns one part of dW. There
    # are as many programs as fill the device, so that the parts take a bounded space whatever B and n are.
    tiles = _choose_weight_gradient_tiles(n, m, u, p.dtype)
    feature_blocks, rank_blocks = ceil_div(m, tiles.m), ceil_div(u, tiles.u)
    num_programs = ceil_div(count_target_programs(x), feature_blocks * rank_blocks)
    rows_per_group = ceil_div(batch, num_programs)
    num_groups = ceil_div(batch, rows_per_group)
    num_splits = min(max(num_programs // num_groups, 1), max(n // _MIN_TOKENS_PER_SPLIT, 1))
    tokens_per_split = ceil_div(ceil_div(n, num_splits), tiles.n) * tiles.n
    num_splits = ceil_div(n, tokens_per_split)
    dweight = torch.empty(num_groups * num_splits, m, u, dtype=torch.float32, device=x.device)
    dq = torch.empty(batch, num_splits * feature_blocks, u, dtype=torch.float32, device=x.device)
    with make_device_current(x):
        _weight_gradients_kernel[(num_groups * num_splits * feature_blocks, rank_blocks)](
            *inputs, dweight, dq, *_get_kernel_strides(x), *_get_kernel_strides(p),
            batch, n, rows_per_group, num_splits, tokens_per_split, **_build_kernel_arguments(tiles, x, p),
        )  # fmt: skip
    return dx, dp, dq.sum(1).to(q.dtype), dweight.sum(0).to(weight.dtype)


def _check_inputs(x: torch.Tensor, p: torch.Tensor, q: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor) -> None:
    """Raise an error unless the tensors have the shapes, types and device that the kernels need.

    Shapes: `x` (B, n, m), `p` = U x (B, n, u), `q` = V c (B, u), `weight` = W (m, u) and `mask` (B, n).
    """
    if x.dim() != 3 or p.dim() != 3:
        raise ValueError(f"x and p must be (B, n, m) and (B, n, u), got {tuple(x.shape)} and {tuple(p.shape)}")
    batch, n, m = x.shape
    u = p.size(2)
    if 0 in (batch, n, m, u):
        raise ValueError(f"no dimension may be empty, got x {tuple(x.shape)} and p {tuple(p.shape)}")
    _check_tensor("x", x, (batch, n, m), x.device)
    _check_tensor("p", p, (batch, n, u), x.device)
    _check_tensor("q", q, (batch, u), x.device)
    _check_tensor("weight", weight, (m, u), x.device)
    _check_tensor("mask", mask, (batch, n), x.device)
    if not can_run(x):
        raise RuntimeError(f"the kernels need Triton and a CUDA device of compute capability 8.0, got {x.device}")


def _check_tensor(name: str, tensor: torch.Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise TypeError or ValueError unless the tensor has a known type, this shape and this device."""
    dtypes = (torch.bool,) if name == "mask" else KERNEL_DTYPES
    if tensor.dtype not in dtypes:
        raise TypeError(f"{name} must be {' or '.join(map(str, dtypes))}, got {tensor.dtype}")
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must be {shape}, got {tuple(tensor.shape)}")
    if tensor.device != device:
        raise ValueError(f"{name} must be on {device} as x is, got {tensor.device}")


# The tiles below are the largest whose kernels keep (nearly) everything in registers when compiled for Hopper. "ieee"
# products run outside of the tensor cores, where each thread holds whole rows of both operands: hence 32 x 32.


def _choose_forward_tiles(n: int, m: int, u: int, dtype: torch.dtype) -> _Tiles:
    """Return the block sizes of the forward kernel for n tokens, m features and rank u."""
    # The more features a program has, the fewer programs read the same p.
    precision, block_u = get_product_precision(dtype), choose_block_size(u, 128)
    if precision == "bf16":
        block_n, block_m = 64, 128
    elif precision == "tf32":
        block_n, block_m = 64 if block_u <= 64 else 32, 64
    else:
        block_n, block_m = 32, 32
    return _Tiles(choose_block_size(n, block_n), choose_block_size(m, block_m), block_u, num_warps=8, num_stages=2)


def _choose_token_gradient_tiles(batch: int, n: int, m: int, u: int, dtype: torch.dtype, num_programs: int) -> _Tiles:
    """Return the block sizes of the kernel for the gradients of the tokens.

    `n`, `m` and `u` are tokens, features and rank; `num_programs` is how many programs the device should get.
    """
    # Every program reads all of W: the more tokens it has the better, as long as every processor has a program.
    precision, block_u = get_product_precision(dtype), choose_block_size(u, 128)
    if precision == "ieee":
        return _Tiles(choose_block_size(n, 32), choose_block_size(m, 32), block_u, num_warps=8, num_stages=2)
    largest = 128 if precision == "bf16" else 64 if block_u <= 64 else 32
    block_n = choose_block_size(n, largest)
    while block_n > 16 and batch * ceil_div(n, block_n) < num_programs // PROGRAMS_PER_PROCESSOR:
        block_n //= 2
    num_warps = 8 if block_n == 128 or (precision == "tf32" and block_n == 64) else 4
    return _Tiles(block_n, choose_block_size(m, 64), block_u, num_warps, num_stages=2)


def _choose_weight_gradient_tiles(n: int, m: int, u: int, dtype: torch.dtype) -> _Tiles:
    """Return the block sizes of the kernel for the gradient of W, with n tokens, m features and rank u."""
    # Two sums of (features, ranks) stay in registers.
    precision, block_u = get_product_precision(dtype), choose_block_size(u, 128)
    if precision == "bf16":
        block_n, block_m = 64, 128 if block_u <= 64 else 64
    elif precision == "tf32":
        block_n, block_m = 32, 64
    else:
        block_n, block_m = 32, 32
    return _Tiles(choose_block_size(n, block_n), choose_block_size(m, block_m), block_u, num_warps=8, num_stages=2)


def _build_kernel_arguments(tiles: _Tiles, x: torch.Tensor, p: torch.Tensor) -> dict[str, Any]:
    """Return the keyword arguments that all kernels but the combining one take.

    m and u are compile-time constants: they belong to the model, and with them the compiler knows which of them leave
    whole 16-byte words (520 does, but is no multiple of the 16 that Triton looks for in an argument).
    """
    u = p.size(2)
    return {
        "BLOCK_N": tiles.n,
        "BLOCK_M": tiles.m,
        "BLOCK_U": tiles.u,
        "NUM_U": ceil_div(u, tiles.u),
        "M": x.size(2),
        "U": u,
        "X_ALIGN": _get_stride_alignment(x),
        "P_ALIGN": _get_stride_alignment(p),
        **get_product_arguments(p.dtype),
        "num_warps": tiles.num_warps,
        "num_stages": tiles.num_stages,
    }


def _get_stride_alignment(tensor: torch.Tensor) -> int:
    """Return the divisor, at most 8, that the strides of rows and tokens share: 8 numbers of 2 bytes make a word."""
    return math.gcd(tensor.stride(0), tensor.stride(1), 8)


def _get_kernel_strides(tensor: torch.Tensor) -> tuple[int, int, int]:
    """Return the strides for the kernels, which multiply the first two by the alignment again and so know of it."""
    alignment = _get_stride_alignment(tensor)
    return tensor.stride(0) // alignment, tensor.stride(1) // alignment, tensor.stride(2)
