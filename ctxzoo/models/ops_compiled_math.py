"""What compiled loops are made of: how Numba compiles them, and functions of float32 numbers without branches.

A processor computes eight and more of them at once in a loop. Numba keeps the code of a loop until the file of the loop
changes: after a change of this one delete the `__pycache__` beside it. Importing this file needs Numba.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

try:  # so that a checkpoint's code does not ask for them
    import numba
    import numpy as np
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic
except ImportError as error:
    raise ImportError(f"compiled loops need Numba: pip install numba ({error})") from error

# Sums keep their order, and what is no number stays so.
OPTIONS: dict[str, Any] = {"fastmath": {"contract", "arcp", "nsz"}, "error_model": "numpy", "boundscheck": False}
Function = TypeVar("Function", bound=Callable[..., Any])


def compile_inline(function: Function) -> Function:
    """Compile a function so that it is inlined into the compiled functions that call it."""
    return cast(Function, numba.njit(forceinline=True, **OPTIONS)(function))


def compile_standalone(function: Callable[..., Any]) -> Any:
    """Compile a function that runs outside the interpreter's lock, and keep its code where a folder can be written."""
    try:
        return numba.njit(nogil=True, cache=True, **OPTIONS)(function)
    except RuntimeError:
        return numba.njit(nogil=True, **OPTIONS)(function)


f32, i32, u32, u64, empty = np.float32, np.int32, np.uint32, np.uint64, np.empty
ZERO, HALF, ONE, TWO = f32(0), f32(0.5), f32(1), f32(2)


def _float_to_bits(context: Any, value: Any) -> Any:
    """Tell Numba how to read the bits of a float32 as an int32: the type of the call, and its LLVM instruction.

    Called by Numba alone; compiled loops call `as_bits`.
    """
    return types.int32(types.float32), lambda _, builder, __, given: builder.bitcast(given[0], ir.IntType(32))


def _bits_to_float(context: Any, value: Any) -> Any:
    """Tell Numba how to read the bits of an int32 as a float32: the type of the call, and its LLVM instruction.

    Called by Numba alone; compiled loops call `as_number`.
    """
    return types.float32(types.int32), lambda _, builder, __, given: builder.bitcast(given[0], ir.FloatType())


as_bits: Any = intrinsic(_float_to_bits)
as_number: Any = intrinsic(_bits_to_float)

# e^x = 2^n e^r with |r| <= ln 2 / 2, of which e^r is a polynomial.
HIGHEST, LOWEST = f32(88.0), f32(-87.0)
LOG2_E, ROUNDER = f32(math.log2(math.e)), f32(1.5 * 2**23)  # adding the rounder leaves a whole number
# ln 2 in two parts; the high one has so few bits that its product with a whole number is exact.
LN2_HIGH, LN2_LOW = f32(0.693359375), f32(math.log(2) - 0.693359375)
E2, E3, E4, E5, E6 = (f32(1 / math.factorial(power)) for power in range(2, 7))


@compile_inline
def exp(x: Any) -> Any:
    """Return e^x in float32; x is first brought into [-87, 88], where the result is a normal number."""
    x = HIGHEST if x > HIGHEST else x
    x = LOWEST if x < LOWEST else x
    # The rounder leaves no room for a fraction: n = round(x / ln 2) stands in the lowest bits of `rounded`.
    rounded = x * LOG2_E + ROUNDER
    whole_part = rounded - ROUNDER
    r = x - whole_part * LN2_HIGH
    r = r - whole_part * LN2_LOW
    y = ((((E6 * r + E5) * r + E4) * r + E3) * r + E2) * r * r + r + ONE
    # The bits of 2^n are (n + 127) << 23; the shift drops of `rounded` all but n.
    return y * as_number(i32((as_bits(rounded) << 23) + i32(127 << 23)))


# ln x = e ln 2 + ln m, m from 1 / sqrt 2 to sqrt 2; ln m = 2 artanh(s), s = (m - 1) / (m + 1), whose series in s^2
# is as exact as a float after six terms.
ROOT_HALF = i32(0x3F3504F3)
A1, A2, A3, A4, A5, A6, A7 = (f32(2 / (2 * power + 1)) for power in range(1, 8))


@compile_inline
def two_artanh(s: Any) -> Any:
    """Return 2 artanh(s), the logarithm of (1 + s) / (1 - s), for small s."""
    z = s * s
    return ((((((A7 * z + A6) * z + A5) * z + A4) * z + A3) * z + A2) * z + A1) * z * s + TWO * s


@compile_inline
def log(x: Any) -> Any:
    """Return ln x of a normal number above 0; for other x the result has no meaning."""
    bits = as_bits(x)
    # Counted from the bits of 1 / sqrt 2, the exponent is that which leaves m between it and sqrt 2.
    exponent = i32(i32(bits - ROOT_HALF) >> 23)
    m = as_number(i32(bits - (exponent << 23)))
    e = f32(exponent)
    # The small parts are added first, so that their digits stay.
    return e * LN2_HIGH + (e * LN2_LOW + two_artanh((m - ONE) / (m + ONE)))


@compile_inline
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e^-x)."""
    return ONE / (ONE + exp(-x))


@compile_inline
def tanh(x: Any) -> Any:
    """Return tanh x, as 1 - 2 / (e^2x + 1)."""
    return ONE - TWO / (exp(TWO * x) + ONE)


@compile_inline
def softplus(x: Any) -> Any:
    """Return ln(1 + e^x) without overflow."""
    y = exp(-abs(x))  # ln(1 + y) is 2 artanh(y / (2 + y))
    return (ZERO if x < ZERO else x) + two_artanh(y / (TWO + y))


def compile_with_reordered_sums(function: Function) -> Function:
    """Compile as `compile_inline`, but with sums in any order, which only functions without `exp` may have."""
    # In another order a compiler may cancel the rounder of `exp`, and with it the rounding.
    options = {**OPTIONS, "fastmath": {*OPTIONS["fastmath"], "reassoc"}}
    return cast(Function, numba.njit(forceinline=True, **options)(function))


@compile_with_reordered_sums
def sum_vector(numbers: Any) -> Any:
    """Return the sum of a vector."""
    result = ZERO
    for place in range(len(numbers)):
        result += numbers[place]
    return result
