"""What depends on whether a program is traced."""

from contextlib import AbstractContextManager, nullcontext

import torch


def is_exporting() -> bool:
    """Return whether `torch.export` traces; torch 2.11 says of `torch.compile` too that it is exporting."""
    return torch.compiler.is_exporting() and not torch.compiler.is_dynamo_compiling()


def refuse_jit_trace(name: str) -> None:
    """Check that `torch.jit.trace` does not trace.

    It would keep the sizes of the example in the program (batch, steps, groups of rows) and no check of inputs,
    so that other texts would give other numbers in silence.

    Args:
        name: of what is traced, for the message.

    Raises:
        NotImplementedError: it does.
    """
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        raise NotImplementedError(
            f"torch.jit.trace of {name} would keep the sizes of the example, and be wrong at others; use "
            "torch.export.export(model, (), batch, dynamic_shapes=...), which does not"
        )


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which nothing is computed in half precision; exported programs cannot hold it."""
    return nullcontext() if is_exporting() else torch.autocast(device.type, enabled=False)
