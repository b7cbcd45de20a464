"""Functions that Numba compiles, with types that checkers know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function that runs outside the interpreter's lock, sums in any order and does not check indices."""
    return cast(Function, _njit()(function))


def compiled_once(function: Function) -> Function:
    """Compile as `compiled` and keep the code beside the file of the function, for every process that has the file."""
    return cast(Function, _njit(cache=True)(function))


def compiled_into_caller(function: Function) -> Function:
    """Compile as `compiled`, always as part of the code of the caller, in which LLVM would else have the choice.

    Otherwise its sums could have one order where its caller was compiled and another where kept code is read: in the
    first process it would be called where it was compiled by itself.
    """
    return cast(Function, _njit(forceinline=True)(function))


def inlined(function: Function) -> Function:
    """Write the function out in the compiled functions that call it."""
    return cast(Function, njit(inline="always")(function))


def _njit(**options: Any) -> Any:
    return njit(nogil=True, fastmath=True, boundscheck=False, error_model="numpy", **options)
