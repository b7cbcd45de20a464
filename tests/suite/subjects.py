"""What a check of the model suite is run on: an architecture, one of its tiny configs, one of its heads."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch

from ctxzoo.models import ARCHITECTURES, Architecture
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from tests.support.model_cases import Batch, ModelCase, find_case

LENGTHS = (7, 1, 4)
BEYOND_ANY_OUTPUT = 1e30  # masked logits lie beyond it


@cache
def _configs(case: ModelCase) -> dict[str, ZooConfig]:
    """The tiny configs of a case, made once: thousands of checks ask for a copy of one of them."""
    return case.configs()


@dataclass(frozen=True)
class Subject:
    """One head of one architecture under one tiny config; what it hands out is new and drawn with its own seed."""

    architecture: Architecture
    case: ModelCase
    config_name: str
    head: str

    @property
    def name(self) -> str:
        return f"{self.architecture.name}-{self.config_name}-{self.head.removeprefix('AutoModelFor')}"

    @property
    def model_class(self) -> type[ZooPreTrainedModel]:
        return self.architecture.model_classes[self.head]

    @property
    def is_base(self) -> bool:
        return self.head == "AutoModel"

    @property
    def has_base(self) -> bool:
        """Whether it is a head with a base model beside it."""
        return not self.is_base and "AutoModel" in self.architecture.model_classes

    @property
    def is_representative(self) -> bool:
        """The one subject of an architecture that stands for all in costly checks."""
        return self.config_name == self.case.representative and self.head == self.case.trained_head

    def with_head(self, head: str) -> Subject:
        return Subject(self.architecture, self.case, self.config_name, head)

    def config(self) -> ZooConfig:
        return copy.deepcopy(_configs(self.case)[self.config_name])

    def new_model(self, seed: int = 0) -> Any:
        """A model as it is constructed."""
        torch.manual_seed(seed)
        return self.model_class(self.config())

    def model(self, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
        """A new model in eval mode, away from a start at which nothing could be seen."""
        return self.case.leave_the_start(self.new_model(seed)).to(dtype).eval()

    def batch(
        self, lengths: Sequence[int] = LENGTHS, seed: int = 0, dtype: torch.dtype = torch.float32, labels: bool = False
    ) -> Batch:
        generator = torch.Generator().manual_seed(seed)
        config = _configs(self.case)[self.config_name]
        batch = self.case.make_batch(config, self.head, lengths, generator)
        if labels:
            batch |= self.case.make_labels(config, self.head, batch, generator)
        return {name: x.to(dtype) if x.is_floating_point() else x for name, x in batch.items()}

    @cached_property
    def has_loss(self) -> bool:
        return bool(set(self.batch(labels=True)) - set(self.batch()))

    def scalar(self, output: Any) -> torch.Tensor:
        """What checks of gradients differentiate: the loss, or a weighted sum of the outputs of a head without one."""
        return output.loss if self.has_loss else probe(named_tensors(output))


def all_subjects() -> Iterator[Subject]:
    """Every registered head under the tiny configs of its case. Architectures without a case are named by
    test_completeness.py.
    """
    for architecture in ARCHITECTURES.values():
        case = find_case(architecture.name)
        if case is None:
            continue
        for config_name in case.configs():
            for head in case.heads.get(config_name, architecture.model_classes):
                yield Subject(architecture, case, config_name, head)


def named_tensors(output: Any) -> dict[str, torch.Tensor]:
    """A model output as flat names and tensors."""
    tensors = {}
    for name, value in output.items():
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        else:
            tensors |= {f"{name}.{place}": x for place, x in enumerate(value)}
    return tensors


def crop(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The leading part of x that has the shape of `like`: cuts what a longer padding adds on the right."""
    return x[tuple(slice(size) for size in like.shape)]


def probe(tensors: dict[str, torch.Tensor], shapes: dict[str, torch.Tensor] | None = None) -> torch.Tensor:
    """A fixed random weighting of all outputs, summed; masked logits are left out.

    `shapes` holds larger tensors of the same names, whose weights are drawn and then cropped: so that an output weighs
    the same alone and as part of a batch.
    """
    total = torch.zeros((), dtype=torch.float64)
    for place, (name, x) in enumerate(sorted(tensors.items())):
        if not x.is_floating_point() or x.dim() == 0:
            continue
        whole = x if shapes is None else shapes[name]
        generator = torch.Generator().manual_seed(1000 + place)
        weight = crop(torch.randn(whole.shape, generator=generator, dtype=torch.float64), x)
        total = total + (x.double() * weight).masked_fill(x.abs() > BEYOND_ANY_OUTPUT, 0.0).sum()
    return total


def assert_same_outputs(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], rtol: float, atol: float
) -> None:
    """Same names, and values within the tolerance; masked logits at the same places."""
    assert set(found) == set(expected)
    for name, x in expected.items():
        assert found[name].shape == x.shape, name
        masked = x.abs() > BEYOND_ANY_OUTPUT
        assert torch.equal(found[name].abs() > BEYOND_ANY_OUTPUT, masked), f"{name}: masked at other places"
        torch.testing.assert_close(
            found[name].masked_fill(masked, 0),
            x.masked_fill(masked, 0),
            rtol=rtol,
            atol=atol,
            check_dtype=False,
            msg=lambda text, name=name: f"{name}: {text}",
        )


def gradients(scalar: torch.Tensor, model: torch.nn.Module, keep_graph: bool = False) -> dict[str, torch.Tensor]:
    """Gradient of each trained parameter; zero where the scalar does not depend on it."""
    names, parameters = zip(*[(n, p) for n, p in model.named_parameters() if p.requires_grad], strict=True)
    found = torch.autograd.grad(scalar, parameters, allow_unused=True, retain_graph=keep_graph)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, found, strict=True)}
