"""Parts of a model that are computed again for the gradient, always or where `gradient_checkpointing_enable` asks."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint


def call_checkpointed(module: Any, function: Callable[..., Any], *inputs: Any) -> Any:
    """Return what a function gives; in training, of a module that is checkpointed, without what its gradient needs.

    Args:
        module: A module with the attribute `gradient_checkpointing`, which transformers sets, and then the function
            that checkpoints; it keeps the state of the random numbers.
        function: A function of the inputs, computed a second time when its gradient is.
        inputs: Arguments of the function.
    """
    if module.gradient_checkpointing and module.training:
        return module._gradient_checkpointing_func(function, *inputs)
    return function(*inputs)


def call_recomputed(function: Callable[..., Any], *inputs: Any) -> Any:
    """Return what a function gives without what its gradient needs, which is too large to be kept for any training.

    Args:
        function: A function of the inputs, computed a second time when its gradient is, with the same random numbers.
        inputs: Arguments of the function.
    """
    return checkpoint(function, *inputs, use_reentrant=False) if torch.is_grad_enabled() else function(*inputs)
