"""Gradients of operations with a backward pass of their own, which nothing derives again."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def without_second_derivative(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of `backward` of an operation by which a gradient that is to be derived again is an error.

    `once_differentiable` of torch is not enough. Where what comes from above needs no gradient, as that of a plain sum,
    it takes the result for a constant, and second derivatives lack a part in silence.

    Args:
        name: of the operation, for the message.
    """

    def decorate(backward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(backward)
        def first_derivative(ctx: Any, *gradients: Any) -> Any:
            if torch.is_grad_enabled():  # by create_graph=True alone
                raise RuntimeError(
                    f"{name} has no second derivatives: its gradient cannot be made with create_graph=True, as "
                    "gradient penalties need it"
                )
            return backward(ctx, *gradients)

        return first_derivative

    return decorate
