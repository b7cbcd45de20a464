"""What the compiled loops are made of: functions that Numba compiles, a hint to fetch a row, random draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_function(function: Function) -> Function:
    """Compile a function by Numba without the GIL, with fast math and without index checks."""
    return cast(Function, _njit()(function))


def compile_and_cache(function: Function) -> Function:
    """Compile a function as `compile_function`, and cache the code beside its file."""
    return cast(Function, _njit(cache=True)(function))


def compile_into_caller(function: Function) -> Function:
    """Compile a function as `compile_function`, but always inlined by LLVM into its callers.

    Otherwise its sums could have one order where its caller was compiled and another where kept code is read: in the
    first process it would be called where it was compiled by itself.
    """
    return cast(Function, _njit(forceinline=True)(function))


def inline_into_callers(function: Function) -> Function:
    """Compile a function so that Numba inlines it into its callers."""
    return cast(Function, njit(inline="always")(function))


def _njit(**options: Any) -> Any:
    """Return the Numba decorator by which the training loops are compiled, with further options."""
    return njit(nogil=True, fastmath=True, boundscheck=False, error_model="numpy", **options)


CACHE_LINE = 64  # bytes


def _prefetch_row(typing_context: Any, matrix: Any, row: Any, width: Any) -> Any:
    """Fetch the first `width` numbers of a row of a float32 matrix into the CPU cache, for writing.

    A hint cannot fail: rows outside of the matrix are ignored.
    """
    signature = types.void(matrix, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions that fetch a row of the array into the cache."""
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        int32, int64, pointer = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
        strides = cgutils.unpack_tuple(builder, array.strides, 2)
        begin = builder.add(builder.ptrtoint(array.data, int64), builder.mul(arguments[1], strides[0]))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, int32, int32, int32]), "llvm.prefetch.p0"
        )
        bytes_wanted = builder.mul(arguments[2], int64(4))
        with cgutils.for_range_slice(builder, int64(0), bytes_wanted, int64(CACHE_LINE), int64) as (offset, _):
            address = builder.inttoptr(builder.add(begin, offset), pointer)
            builder.call(function, [address, int32(1), int32(3), int32(1)])  # for writing, to stay, data
        return context.get_dummy_value()

    return signature, generate


prefetch_row: Any = intrinsic(_prefetch_row)


@inline_into_callers
def draw_random_bits(state: Any) -> Any:
    """Return 64 random bits and advance `state`, by xorshift64* (Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@inline_into_callers
def scale_bits_below(bits: Any, limit: int) -> Any:
    """Return a number from 0 to limit - 1, made of 32 random bits."""
    return np.int64((bits * np.uint64(limit)) >> np.uint64(32))


@compile_function
def draw_noise_words(limits: Any, others: Any, state: Any, drawn: Any) -> None:
    """Draw noise words into drawn[1:] from the alias tables of `build_alias_tables`.

    Which of two words it is comes out of a product, not of a branch, which a processor would guess wrong half of the
    time.
    """
    for index in range(1, len(drawn)):
        bits = draw_random_bits(state)
        word = scale_bits_below(bits >> np.uint64(32), len(limits))
        other = np.int64(others[word])
        is_word = np.int64(np.uint32(bits & np.uint64(0xFFFFFFFF)) < limits[word])
        drawn[index] = other + (word - other) * is_word
