"""How parts of a model run: dropout, parts computed again, gradients that are derived once, and traced programs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

_STEPS = 2**16  # rates are multiples of its inverse


def dropout(x: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Zero each value with probability `rate` and scale the others by 1 / (1 - rate), in training.

    On the CPU torch draws a float for every value. Here one 64-bit draw decides about four values, so the rate is
    rounded to a multiple of 2^-16 (and the scale with it); other devices use torch's own dropout.

    Args:
        x: Tensor of any shape.
        rate: Dropout rate, in [0, 1).
        training: Whether dropout is on.

    Returns:
        A tensor of the shape of x; x itself unless in training.
    """
    if not training or rate == 0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, rate, training=True)
    dropped = round(rate * _STEPS)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    values = draws.view(torch.int16)[: x.numel()].view(x.shape)  # each from -2^15 to 2^15 - 1
    # Of the 2^16 values of such a number `dropped` are below this.
    kept = values >= dropped - _STEPS // 2
    return x * kept.to(x.dtype).mul_(_STEPS / (_STEPS - dropped))


def call_with_checkpointing(module: Any, function: Callable[..., Any], *inputs: Any) -> Any:
    """Call a function, with gradient checkpointing if the module is in training and transformers switched it on.

    Args:
        module: Module with the attributes for gradient checkpointing that transformers sets (`gradient_checkpointing`
            and the function that checkpoints, which keeps the state of the random numbers).
        function: Function of the inputs, which is computed a second time in the backward pass.
        inputs: Arguments of the function.
    """
    if module.gradient_checkpointing and module.training:
        return module._gradient_checkpointing_func(function, *inputs)
    return function(*inputs)


def call_with_recomputation(function: Callable[..., Any], *inputs: Any) -> Any:
    """Call a function whose intermediate results are too large to keep: the backward pass computes them again.

    Args:
        function: Function of the inputs, which is computed a second time in the backward pass with the same random
            numbers.
        inputs: Arguments of the function.
    """
    return checkpoint(function, *inputs, use_reentrant=False) if torch.is_grad_enabled() else function(*inputs)


def refuse_second_derivative(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of an operation's `backward` that raises an error if second derivatives are requested.

    `once_differentiable` of torch is not enough. Where what comes from above needs no gradient, as that of a plain sum,
    it takes the result for a constant, and second derivatives lack a part in silence.

    Args:
        name: Name of the operation, for the error message.
    """

    def decorate(backward: Callable[..., Any]) -> Callable[..., Any]:
        """Return `backward` with a check in front that refuses `create_graph=True`."""

        @wraps(backward)
        def first_derivative(ctx: Any, *gradients: Any) -> Any:
            """Raise RuntimeError under `create_graph=True`; otherwise run the backward pass."""
            if torch.is_grad_enabled():  # by create_graph=True alone
                raise RuntimeError(
                    f"{name} has no second derivatives: its gradient cannot be made with create_graph=True, as "
                    "gradient penalties need it"
                )
            return backward(ctx, *gradients)

        return first_derivative

    return decorate


def is_exporting() -> bool:
    """Return whether `torch.export` traces; torch 2.11 says of `torch.compile` too that it is exporting."""
    return torch.compiler.is_exporting() and not torch.compiler.is_dynamo_compiling()


def refuse_jit_trace(name: str) -> None:
    """Raise an error under `torch.jit.trace`, whose program would be right for one shape of inputs alone.

    It would keep the sizes of the example in the program (batch, steps, groups of rows) and no check of inputs,
    so that other texts would give other numbers in silence.

    Args:
        name: Name of what is traced, for the error message.

    Raises:
        NotImplementedError: it does.
    """
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        raise NotImplementedError(
            f"torch.jit.trace of {name} would keep the sizes of the example, and be wrong at others; use "
            "torch.export.export(model, (), batch, dynamic_shapes=...), which does not"
        )


@contextmanager
def in_evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model in evaluation mode, without gradients, within a `with` block, and back into its mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def disable_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which nothing is computed in half precision; exported programs cannot hold it."""
    if is_exporting() or not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, enabled=False)
