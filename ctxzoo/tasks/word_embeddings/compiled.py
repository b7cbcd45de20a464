"""Functions that Numba compiles, with types that checkers know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Outside the interpreter's lock, in any order of sums (fastmath), without checks of indices."""
    return cast(Function, _njit()(function))


def compiled_once(function: Function) -> Function:
    """As `compiled`; the code is kept beside the file of the function, for every process that has the file."""
    return cast(Function, _njit(cache=True)(function))


def compiled_in_place(function: Function) -> Function:
    """As `compiled`, and always part of the code of its caller, in which LLVM would else have the choice.

    Otherwise its sums could have one order where its caller was compiled and another where kept code is read: in the
    first process it would be called where it was compiled by itself.
    """
    return cast(Function, _njit(forceinline=True)(function))


def inlined(function: Function) -> Function:
    """Into compiled functions."""
    return cast(Function, njit(inline="always")(function))


def _njit(**options: Any) -> Any:
    return njit(nogil=True, fastmath=True, boundscheck=False, error_model="numpy", **options)
