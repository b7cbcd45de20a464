"""`TaskExport`: what an exported model of one problem reads and gives, and how its inputs are made without ctxzoo."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import nn

Tensors = dict[str, torch.Tensor]


class NotExportableError(ValueError):
    """A model cannot be exported, or its program gives other numbers."""


class TaskExport(ABC):
    """One problem: the program that is exported of its models, and what stands in the folder beside it.

    Attributes:
        inputs, outputs: Meaning of each input and output of the program, by name; a model may lack some of them.
        example_at: Module whose source is the folder's `example.py`. What it imports of `ctxzoo.models` is copied too,
            so it must be files that import the standard library alone.
        longest: Largest length of a sequence in checks.
    """

    inputs: ClassVar[Mapping[str, str]]
    outputs: ClassVar[Mapping[str, str]]
    example_at: ClassVar[str]
    longest: ClassVar[int] = 40

    @abstractmethod
    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        """Return random inputs of a model, padding included, by name.

        Args:
            model: Model with its head.
            lengths: Length of each row's sequence, 1 or more; of rows without a sequence only their number counts.
            generator: Source of the random numbers.
        """

    @abstractmethod
    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        """Return, one step a text, how inputs are computed and outputs read, for who writes it in another language."""

    def build_program(self, model: Any) -> nn.Module:
        """Return the module to export, which takes the inputs by name and returns the outputs in a tuple."""
        return HeadProgram(model, self.outputs)

    def decide(self, outputs: Tensors) -> torch.Tensor | None:
        """Return the predictions that follow from outputs, to compare two programs; None where they are numbers."""
        return torch.cat([value.argmax(dim=-1).flatten() for value in outputs.values()])


class HeadProgram(nn.Module):
    """A model that returns some fields of its output as a tuple.

    Args:
        model: Model with its head.
        names: Names of the fields; those that are None for this model are left out.
    """

    def __init__(self, model: nn.Module, names: Iterable[str]) -> None:
        super().__init__()
        self.model = model
        kept = tuple(names)

        def forward(*inputs: torch.Tensor, **by_name: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Return the fields of the model's output."""
            output = model(*inputs, **by_name, return_dict=True)
            return tuple(value for name in kept if (value := getattr(output, name)) is not None)

        # By which torch.export finds the names of inputs.
        forward.__signature__ = inspect.signature(model.forward)  # type: ignore[attr-defined]
        self.forward = forward


def draw_mask(lengths: Sequence[int]) -> torch.Tensor:
    """Return the mask (B, n) int64 of sequences of these lengths, 1 at places that count."""
    return (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()


def draw_ids(low: int, high: int, mask: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return random ids of `low` to `high` - 1 in the shape of a mask of 0 and 1, 0 where it is 0."""
    return torch.randint(low, high, mask.shape, generator=generator) * mask
