"""What depends on whether a program is traced for export."""

from contextlib import AbstractContextManager, nullcontext

import torch


def is_exporting() -> bool:
    """Return whether `torch.export` traces; torch 2.11 says of `torch.compile` too that it is exporting."""
    return torch.compiler.is_exporting() and not torch.compiler.is_dynamo_compiling()


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which nothing is computed in half precision; exported programs cannot hold it."""
    return nullcontext() if is_exporting() else torch.autocast(device.type, enabled=False)
