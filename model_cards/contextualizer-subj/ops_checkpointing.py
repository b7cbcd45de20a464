"""Parts of a model that are computed again for the gradient, where `gradient_checkpointing_enable` asks for it."""

from collections.abc import Callable
from typing import Any


def call_checkpointed(module: Any, function: Callable[..., Any], *inputs: Any) -> Any:
    """Return what a function gives; in training, of a module that is checkpointed, without what its gradient needs.

    Args:
        module: with the attribute `gradient_checkpointing`, which transformers sets, and then the function that
            checkpoints; it keeps the state of the random numbers.
        function: computed a second time when its gradient is.
        inputs: of the function.
    """
    if module.gradient_checkpointing and module.training:
        return module._gradient_checkpointing_func(function, *inputs)
    return function(*inputs)
