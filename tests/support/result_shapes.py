"""The shapes of what torch's operations give."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class ResultShapes(TorchDispatchMode):
    """Records the shape of every tensor that an operation gives while the mode is on."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.seen += [tuple(x.shape) for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        return result

    def largest(self) -> int:
        """Return how many numbers the largest tensor has."""
        return max(map(math.prod, self.seen), default=0)

    def total(self) -> int:
        """Return how many numbers all tensors have together."""
        return sum(map(math.prod, self.seen))
