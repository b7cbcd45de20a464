"""What the shared model suite must know of an architecture, and how it finds it."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class BadInput:
    """One mistake of a caller: `change` spoils good arguments, the error must be of `error` and match `message`."""

    name: str
    change: Callable[[Batch], None]
    message: str
    error: type[Exception] = ValueError


@dataclass(frozen=True)
class OverfitGoal:
    """Adam with this rate must bring the loss of four examples below `bound` within `steps`."""

    steps: int
    learning_rate: float
    bound: float


class ModelCase(ABC):
    """The tiny sizes of one architecture and batches for them. `CASE` in tests/models/cases_<arch>.py is an instance.

    A head is named as it is registered: by its Auto class ("AutoModel", "AutoModelForQuestionAnswering", …) or its own.

    Attributes:
        sequences: Mask input -> the inputs that share its second dimension (steps); empty for an architecture that
            reads no sequences, whose batches then have as many rows as lengths are requested.
        representative: The name of the config in which most parts of the model are present; costly checks take it
            alone, the other configs are marked slow there.
        trained_head: The head whose checkpoint is used where one must stand for all.
        overfit: Argument of `OverfitGoal`; for every head that takes labels.
        loss_is_mean_over_rows: The loss of a batch is the mean of its rows' losses.
        draws_in_training: There is dropout or the like, so that two seeds train to two results.
        has_attentions: The model weighs its inputs, and gives the weights on request; without them it gives None.
        has_hidden_states: The model has states between input and output, and gives them on request.
        heads: Config -> the heads that are tried with it, where not all are; every config has the trained head.
        built: Names of the modules whose kernels inductor builds, "" for the whole model; what is left out, because
            building it takes half a minute, must be in what is built of another architecture.
        not_applicable: Check (its function name without "test_") -> why it cannot hold for this architecture.
    """

    sequences: ClassVar[Mapping[str, Sequence[str]]] = {}
    representative: str
    trained_head: str
    overfit: OverfitGoal
    loss_is_mean_over_rows: bool = True
    draws_in_training: bool = True
    has_attentions: bool = True
    has_hidden_states: bool = True
    heads: ClassVar[Mapping[str, Sequence[str]]] = {}
    built: ClassVar[Sequence[str]] = ("",)
    not_applicable: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def configs(self) -> dict[str, ZooConfig]:
        """Named tiny configs, together covering every part of the model. Each has a dropout rate above 0, if any."""

    @abstractmethod
    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        """Inputs without labels: one row for each length, masks included, padded on the right with zeros."""

    @abstractmethod
    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        """Labels for a batch; empty for a head without a loss."""

    @abstractmethod
    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        """Every mistake that the head answers with an error of its own; they are tried on a good batch with labels."""

    def leave_the_start(self, model: torch.nn.Module) -> torch.nn.Module:
        """A new model, its weights changed where they start such that outputs or gradients are all 0."""
        return model

    def without_gradient(self, config: ZooConfig, head: str) -> dict[str, str]:
        """Trainable parameters whose gradient is zero by the equations -> why."""
        return {}

    def frozen(self, config: ZooConfig) -> set[str]:
        """Parameters of the base model that are not trained."""
        return set()


def case_module_name(architecture: str) -> str:
    return f"tests.models.cases_{architecture}"


def find_case(architecture: str) -> ModelCase | None:
    """The case of a registered architecture, None if nobody has written it (test_completeness.py then says so)."""
    name = case_module_name(architecture)
    if importlib.util.find_spec(name) is None:
        return None
    case = importlib.import_module(name).CASE
    assert isinstance(case, ModelCase), f"CASE in {name} must be a ModelCase, got {type(case).__name__}"
    return case


def random_like(x: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Return `shape` filled with values drawn from x itself, so that ids stay inside their tables."""
    positions = torch.randint(x.numel(), tuple(shape), generator=generator)
    return x.flatten()[positions]


def _that_share(batch: Batch, mask_name: str, names: Sequence[str]) -> list[str]:
    """Those of `names` that have the steps of the mask; the labels of one head may, and those of another not."""
    steps = batch[mask_name].shape
    return [name for name in names if name in batch and batch[name].shape[:2] == steps]


def lengthen(
    batch: Batch, sequences: Mapping[str, Sequence[str]], extra: int, generator: torch.Generator | None = None
) -> Batch:
    """Add `extra` more padded steps in every sequence: zeros, or with a generator any values under a mask of zeros."""
    longer = dict(batch)
    for mask_name, names in sequences.items():
        for name in (mask_name, *_that_share(batch, mask_name, names)):
            x = batch[name]
            shape = (x.size(0), extra, *x.shape[2:])
            tail = x.new_zeros(shape)
            if generator is not None and name != mask_name:
                tail = random_like(x, shape, generator)
            longer[name] = torch.cat([x, tail], dim=1)
    return longer


def scramble_padding(batch: Batch, sequences: Mapping[str, Sequence[str]], generator: torch.Generator) -> Batch:
    """Fill in any values where the masks are zero."""
    changed = dict(batch)
    for mask_name, names in sequences.items():
        real = batch[mask_name].bool()
        for name in _that_share(batch, mask_name, names):
            x = batch[name]
            keep = real.view(*real.shape, *[1] * (x.dim() - 2))
            changed[name] = torch.where(keep, x, random_like(x, x.shape, generator))
    return changed


def row_alone(batch: Batch, sequences: Mapping[str, Sequence[str]], row: int) -> Batch:
    """One row as a batch of its own, without any padding."""
    alone = {name: x[row : row + 1] for name, x in batch.items()}
    for mask_name, names in sequences.items():
        length = int(batch[mask_name][row].sum())
        for name in (mask_name, *_that_share(batch, mask_name, names)):
            alone[name] = alone[name][:, :length]
    return alone
