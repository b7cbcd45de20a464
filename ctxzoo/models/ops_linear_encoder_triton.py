"""The causal sums of attention in linear time as fused Triton kernels, forward and backward.

With features of the queries phi_i and of the keys kappa_j, values v_j, and the level r_j that a key is scaled to
(levels never fall), query i gets

    out_i = exp(r_0 - r_i) phi_i S_0 + sum_(j <= i) exp(r_j - r_i) (phi_i . kappa_j) (v_j, 1),

where S_0 are the sums before the first key, at the level r_0. A program has a row, that is a head of a text, and a
block of features and of columns of the values. It walks over the positions in chunks, and keeps the sums S of its
blocks in registers: neither the products of a chunk nor the sums before each chunk are stored. The backward pass walks
forward once more for the gradient of the queries, which needs S, and then twice backward, for those of keys and
values, which need the same sums over the later queries.

What the 1 behind the values adds up, the sum n over the keys, is a vector beside S: as one more column of the values it
would double a block. A block of features or columns has its part of a sum over all of them, and parts are added by
torch. Every sum has a fixed order, so results repeat bit for bit on the same kind of device.

Triton is optional: without it this file imports, and the functions cannot be called.
"""

from typing import Any

import torch

from .ops_triton import (
    ceil_div,
    choose_block_size,
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

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _load_levels(levels_ptr, start, places, length, C: tl.constexpr):  # type: ignore[no-untyped-def]
        """Return the level before a chunk, those of its positions, and that behind it, from r_0 and the r of all keys.

        Positions behind the last one have its level.
        """
        before = tl.load(levels_ptr + start)
        end = tl.load(levels_ptr + tl.minimum(start + C, length))
        here = places < length - start
        levels = tl.load(levels_ptr + start + 1 + places, mask=here, other=0.0)
        return before, tl.where(here, levels, end), end

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _compute_decay(levels, places):  # type: ignore[no-untyped-def]
        """Return the factors exp(r_j - r_i) of queries i and keys j of a chunk; 0 where j comes later."""
        # Differences above 0 are those to later keys.
        factors = tl.exp(tl.minimum(levels[None, :] - levels[:, None], 0.0))
        return tl.where(places[:, None] >= places[None, :], factors, 0.0)

    @triton.jit(do_not_specialize=["length", "rows"])  # type: ignore[untyped-decorator, unused-ignore]
    def _forward_kernel(  # type: ignore[no-untyped-def]
        query_ptr, key_ptr, value_ptr, levels_ptr, start_ptr, out_ptr, last_ptr, guard_ptr,
        length, rows,
        GUARD: tl.constexpr, F: tl.constexpr, V: tl.constexpr,
        C: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_V: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute out (a part by block of features), the sums behind the last key, and the guards."""
        row = tl.program_id(0).to(tl.int64)
        feature_block, column_block = tl.program_id(1), tl.program_id(2)
        places = tl.arange(0, C)
        features = feature_block * BLOCK_F + tl.arange(0, BLOCK_F)
        columns = column_block * BLOCK_V + tl.arange(0, BLOCK_V)
        query_ptr += row * length * F
        key_ptr += row * length * F
        value_ptr += row * length * V
        levels_ptr += row * (length + 1)
        start_ptr += row * (F * (V + 1))
        last_ptr += row * (F * (V + 1))
        part = feature_block.to(tl.int64) * rows + row
        out_ptr += part * length * (V + 1)
        guard_ptr += part * length

        sums = load_tile(start_ptr, features, columns, V + 1, 1, F, V).to(tl.float32)
        totals = tl.load(start_ptr + features * (V + 1) + V, mask=features < F, other=0.0).to(tl.float32)
        for start in range(0, length, C):
            num_left = length - start
            offset = tl.cast(start, tl.int64)
            before, levels, end = _load_levels(levels_ptr, start, places, length, C)
            query = load_tile(query_ptr + offset * F, places, features, F, 1, num_left, F)
            key = load_tile(key_ptr + offset * F, places, features, F, 1, num_left, F)
            value = load_tile(value_ptr + offset * V, places, columns, V, 1, num_left, V).to(DOT)
            decay = _compute_decay(levels, places)
            fall, rise = tl.exp(before - levels), tl.exp(levels - end)  # from the level before, to that behind

            products = tl.dot(query.to(DOT), tl.trans(key.to(DOT)), input_precision=PRECISION) * decay
            carried = tl.dot(query.to(DOT), sums.to(ROUND).to(DOT), input_precision=PRECISION)
            out = tl.dot(products.to(ROUND).to(DOT), value, carried * fall[:, None], input_precision=PRECISION)
            out_block = out_ptr + offset * (V + 1)
            store_tile(out_block, out, places, columns, V + 1, num_left, V)
            if column_block == 0:
                total = tl.sum(products, axis=1)
                total += fall * tl.sum(query.to(tl.float32) * totals[None, :], axis=1)
                total = total.to(out_ptr.dtype.element_ty)
                tl.store(out_block + places * (V + 1) + V, total, mask=places < num_left)
                if GUARD:
                    of_keys = tl.sum(key.to(tl.float32), axis=1)
                    guard = tl.sum(decay * of_keys[None, :], axis=1) + fall * tl.sum(totals, axis=0)
                    tl.store(guard_ptr + start + places, guard, mask=places < num_left)

            risen = key.to(tl.float32) * rise[:, None]
            step = tl.exp(before - end)
            sums = tl.dot(tl.trans(risen.to(ROUND).to(DOT)), value, sums * step, input_precision=PRECISION)
            totals = totals * step + tl.sum(risen, axis=0)
        store_tile(last_ptr, sums, features, columns, V + 1, F, V)
        if column_block == 0:
            last = totals.to(last_ptr.dtype.element_ty)
            tl.store(last_ptr + features * (V + 1) + V, last, mask=features < F)

    @triton.jit(do_not_specialize=["length", "rows"])  # type: ignore[untyped-decorator, unused-ignore]
    def _query_gradient_kernel(  # type: ignore[no-untyped-def]
        grad_ptr, key_ptr, value_ptr, levels_ptr, start_ptr, dquery_ptr,
        length, rows,
        F: tl.constexpr, V: tl.constexpr, C: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_V: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute the gradient of the queries (a part by block of columns), with the sums as in the forward pass."""
        row = tl.program_id(0).to(tl.int64)
        column_block = tl.program_id(2)
        places = tl.arange(0, C)
        features = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
        columns = column_block * BLOCK_V + tl.arange(0, BLOCK_V)
        grad_ptr += row * length * (V + 1)
        key_ptr += row * length * F
        value_ptr += row * length * V
        levels_ptr += row * (length + 1)
        start_ptr += row * (F * (V + 1))
        dquery_ptr += (column_block.to(tl.int64) * rows + row) * length * F

        sums = load_tile(start_ptr, features, columns, V + 1, 1, F, V).to(tl.float32)
        totals = tl.load(start_ptr + features * (V + 1) + V, mask=features < F, other=0.0).to(tl.float32)
        for start in range(0, length, C):
            num_left = length - start
            offset = tl.cast(start, tl.int64)
            before, levels, end = _load_levels(levels_ptr, start, places, length, C)
            key = load_tile(key_ptr + offset * F, places, features, F, 1, num_left, F)
            value = load_tile(value_ptr + offset * V, places, columns, V, 1, num_left, V).to(DOT)
            grad = load_tile(grad_ptr + offset * (V + 1), places, columns, V + 1, 1, num_left, V).to(DOT)
            # The gradient of the last column counts once, in the first block of columns.
            counts = (places < num_left) & (column_block == 0)
            of_total = tl.load(grad_ptr + (offset + places) * (V + 1) + V, mask=counts, other=0.0).to(tl.float32)
            fall, rise = tl.exp(before - levels), tl.exp(levels - end)

            of_products = tl.dot(grad, tl.trans(value), input_precision=PRECISION) + of_total[:, None]
            of_products *= _compute_decay(levels, places)
            carried = tl.dot(grad, tl.trans(sums.to(ROUND).to(DOT)), input_precision=PRECISION)
            carried = (carried + of_total[:, None] * totals[None, :]) * fall[:, None]
            dquery = tl.dot(of_products.to(ROUND).to(DOT), key.to(DOT), carried, input_precision=PRECISION)
            store_tile(dquery_ptr + offset * F, dquery, places, features, F, num_left, F)

            risen = key.to(tl.float32) * rise[:, None]
            step = tl.exp(before - end)
            sums = tl.dot(tl.trans(risen.to(ROUND).to(DOT)), value, sums * step, input_precision=PRECISION)
            totals = totals * step + tl.sum(risen, axis=0)

    @triton.jit(do_not_specialize=["length", "rows"])  # type: ignore[untyped-decorator, unused-ignore]
    def _key_gradient_kernel(  # type: ignore[no-untyped-def]
        grad_ptr, query_ptr, value_ptr, levels_ptr, of_last_ptr, dkey_ptr, dstart_ptr,
        length, rows,
        F: tl.constexpr, V: tl.constexpr, C: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_V: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute the gradients of the keys (a part by block of columns) and of S_0.

        It walks backward, with the gradient of the sums behind a chunk in registers, at the level there.
        """
        row = tl.program_id(0).to(tl.int64)
        column_block = tl.program_id(2)
        places = tl.arange(0, C)
        features = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
        columns = column_block * BLOCK_V + tl.arange(0, BLOCK_V)
        grad_ptr += row * length * (V + 1)
        query_ptr += row * length * F
        value_ptr += row * length * V
        levels_ptr += row * (length + 1)
        of_last_ptr += row * (F * (V + 1))
        dstart_ptr += row * (F * (V + 1))
        dkey_ptr += (column_block.to(tl.int64) * rows + row) * length * F

        of_sums = load_tile(of_last_ptr, features, columns, V + 1, 1, F, V).to(tl.float32)
        # The gradient of the last column counts once, in the first block of columns.
        own_features = (features < F) & (column_block == 0)
        of_totals = tl.load(of_last_ptr + features * (V + 1) + V, mask=own_features, other=0.0).to(tl.float32)
        num_chunks = tl.cdiv(length, C)
        for number in range(num_chunks):
            start = (num_chunks - 1 - number) * C
            num_left = length - start
            offset = tl.cast(start, tl.int64)
            before, levels, end = _load_levels(levels_ptr, start, places, length, C)
            query = load_tile(query_ptr + offset * F, places, features, F, 1, num_left, F)
            value = load_tile(value_ptr + offset * V, places, columns, V, 1, num_left, V).to(DOT)
            grad = load_tile(grad_ptr + offset * (V + 1), places, columns, V + 1, 1, num_left, V).to(DOT)
            counts = (places < num_left) & (column_block == 0)
            of_total = tl.load(grad_ptr + (offset + places) * (V + 1) + V, mask=counts, other=0.0).to(tl.float32)
            fall, rise = tl.exp(before - levels), tl.exp(levels - end)

            of_products = tl.dot(grad, tl.trans(value), input_precision=PRECISION) + of_total[:, None]
            of_products *= _compute_decay(levels, places)
            carried = tl.dot(value, tl.trans(of_sums.to(ROUND).to(DOT)), input_precision=PRECISION)
            carried = (carried + of_totals[None, :]) * rise[:, None]
            rounded = tl.trans(of_products.to(ROUND).to(DOT))
            dkey = tl.dot(rounded, query.to(DOT), carried, input_precision=PRECISION)
            store_tile(dkey_ptr + offset * F, dkey, places, features, F, num_left, F)

            fallen = query.to(tl.float32) * fall[:, None]
            step = tl.exp(before - end)
            of_sums = tl.dot(tl.trans(fallen.to(ROUND).to(DOT)), grad, of_sums * step, input_precision=PRECISION)
            of_totals = of_totals * step + tl.sum(fallen * of_total[:, None], axis=0)
        store_tile(dstart_ptr, of_sums, features, columns, V + 1, F, V)
        if column_block == 0:
            dtotals = of_totals.to(dstart_ptr.dtype.element_ty)
            tl.store(dstart_ptr + features * (V + 1) + V, dtotals, mask=features < F)

    @triton.jit(do_not_specialize=["length", "rows"])  # type: ignore[untyped-decorator, unused-ignore]
    def _value_gradient_kernel(  # type: ignore[no-untyped-def]
        grad_ptr, query_ptr, key_ptr, levels_ptr, of_last_ptr, dvalue_ptr,
        length, rows,
        F: tl.constexpr, V: tl.constexpr, C: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_V: tl.constexpr,
        ROUND: tl.constexpr, DOT: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """Compute the gradient of the values (a part by block of features), walking as for that of the keys.

        Both in one kernel would keep more than there are registers.
        """
        row = tl.program_id(0).to(tl.int64)
        feature_block = tl.program_id(1)
        places = tl.arange(0, C)
        features = feature_block * BLOCK_F + tl.arange(0, BLOCK_F)
        columns = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
        grad_ptr += row * length * (V + 1)
        query_ptr += row * length * F
        key_ptr += row * length * F
        levels_ptr += row * (length + 1)
        of_last_ptr += row * (F * (V + 1))
        dvalue_ptr += (feature_block.to(tl.int64) * rows + row) * length * V

        of_sums = load_tile(of_last_ptr, features, columns, V + 1, 1, F, V).to(tl.float32)
        num_chunks = tl.cdiv(length, C)
        for number in range(num_chunks):
            start = (num_chunks - 1 - number) * C
            num_left = length - start
            offset = tl.cast(start, tl.int64)
            before, levels, end = _load_levels(levels_ptr, start, places, length, C)
            query = load_tile(query_ptr + offset * F, places, features, F, 1, num_left, F)
            key = load_tile(key_ptr + offset * F, places, features, F, 1, num_left, F).to(DOT)
            grad = load_tile(grad_ptr + offset * (V + 1), places, columns, V + 1, 1, num_left, V).to(DOT)
            fall, rise = tl.exp(before - levels), tl.exp(levels - end)

            products = tl.dot(query.to(DOT), tl.trans(key), input_precision=PRECISION)
            products *= _compute_decay(levels, places)
            carried = tl.dot(key, of_sums.to(ROUND).to(DOT), input_precision=PRECISION) * rise[:, None]
            rounded = tl.trans(products.to(ROUND).to(DOT))
            dvalue = tl.dot(rounded, grad, carried, input_precision=PRECISION)
            store_tile(dvalue_ptr + offset * V, dvalue, places, columns, V, num_left, V)

            fallen = (query.to(tl.float32) * fall[:, None]).to(ROUND).to(DOT)
            of_sums = tl.dot(tl.trans(fallen), grad, of_sums * tl.exp(before - end), input_precision=PRECISION)


def causal_sums_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    levels: torch.Tensor,
    sums: torch.Tensor,
    with_guard: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Compute the sums over the keys that each query sees. All tensors are on a device where `can_run` is True.

    Args:
        query: (B, h, L, F) features of the queries.
        key: (B, h, L, F) features of the keys, each at its level; 0 at padding.
        value: (B, h, L, dv) values.
        levels: (B, h, L + 1) levels, in float32 at least: first that of `sums`, then that of each key.
        sums: (B, h, F, dv + 1) sums S_0 before the first key, and in the last column n.
        with_guard: Whether to return the guards.

    Returns:
        out (B, h, L, dv + 1), the sums behind the last key (B, h, F, dv + 1) at its level, and guards (B, h, L), the
        seen keys summed over all features, or None.
    """
    batch, heads, length, _ = query.shape
    width = value.size(-1)
    grid, arguments = _plan_launch(query, value)
    num_parts = grid[1]
    # What is added up is in float32.
    dtype = value.dtype if num_parts == 1 else torch.float32
    out = torch.empty(num_parts, batch, heads, length, width + 1, dtype=dtype, device=value.device)
    last = torch.empty(sums.shape, dtype=sums.dtype, device=sums.device)
    guard = torch.empty(
        (num_parts, batch, heads, length if with_guard else 0), dtype=torch.float32, device=value.device
    )
    inputs = [tensor.contiguous() for tensor in (query, key, value, levels.float(), sums)]
    with make_device_current(query):
        _forward_kernel[grid](
            *inputs, out, last, guard if with_guard else out, length, batch * heads, GUARD=with_guard, **arguments
        )
    return _add_parts(out, value.dtype), last, _add_parts(guard, torch.float32) if with_guard else None


def causal_sums_backward(
    grad: torch.Tensor,
    of_last: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    levels: torch.Tensor,
    sums: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the gradients of `causal_sums_forward`; levels are constants.

    Args:
        grad: (B, h, L, dv + 1) gradient of out.
        of_last: (B, h, F, dv + 1) gradient of the sums behind the last key.
        query, key, value, levels, sums: Inputs of `causal_sums_forward`.

    Returns:
        The gradients of query, key, value and sums, each in the dtype of its input.
    """
    grid, arguments = _plan_launch(query, value)
    _, feature_blocks, column_blocks = grid
    grad, query, key, value, sums = (tensor.contiguous() for tensor in (grad, query, key, value, sums))
    levels, of_last = levels.float().contiguous(), of_last.contiguous()
    dquery, dkey = (_make_parts(column_blocks, tensor) for tensor in (query, key))
    dvalue, dsums = _make_parts(feature_blocks, value), torch.empty_like(sums)
    size = query.size(2), query.size(0) * query.size(1)  # positions, and rows
    with make_device_current(query):
        _query_gradient_kernel[grid](grad, key, value, levels, sums, dquery, *size, **arguments)
        _key_gradient_kernel[grid](grad, query, value, levels, of_last, dkey, dsums, *size, **arguments)
        _value_gradient_kernel[grid](grad, query, key, levels, of_last, dvalue, *size, **arguments)
    return (
        _add_parts(dquery, query.dtype),
        _add_parts(dkey, key.dtype),
        _add_parts(dvalue, value.dtype),
        dsums,
    )


def _make_parts(number: int, like: torch.Tensor) -> torch.Tensor:
    """Return an empty tensor for `number` parts of a sum of the shape of `like`; several parts are in float32."""
    dtype = like.dtype if number == 1 else torch.float32
    return torch.empty(number, *like.shape, dtype=dtype, device=like.device)


def _add_parts(parts: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the sum over the first dimension, in `dtype`."""
    return parts[0] if parts.size(0) == 1 else parts.sum(dim=0).to(dtype)


def _plan_launch(query: torch.Tensor, value: torch.Tensor) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Return the grid of rows, blocks of features and blocks of columns, and the arguments all kernels take."""
    num_features, width = query.size(3), value.size(3)
    # The blocks keep (nearly) everything in registers when compiled for Hopper. Narrow blocks of columns also give a
    # device more programs, of which there are few otherwise: batch times heads.
    full = get_product_precision(query.dtype) == "ieee"
    block_f = choose_block_size(num_features, 32 if full else 64)
    block_v = choose_block_size(width, 32 if full else 64)
    grid = (query.size(0) * query.size(1), ceil_div(num_features, block_f), ceil_div(width, block_v))
    arguments = {
        "F": num_features,
        "V": width,
        "C": choose_block_size(query.size(2), 32 if full else 64),
        "BLOCK_F": block_f,
        "BLOCK_V": block_v,
        **get_product_arguments(query.dtype),
        "num_warps": 8,
        "num_stages": 2,
    }
    return grid, arguments
