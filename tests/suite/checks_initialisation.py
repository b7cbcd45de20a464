"""Initial values: nothing left uninitialised, and loading draws what construction draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from tests.suite.marks import through_heads
from tests.suite.subjects import Subject

DRAWS = 4


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Memory that torch hands out uninitialised is NaN (the lowest number for integers)."""

    def poisoned(allocate: Any) -> Any:
        def allocate_and_fill(*args: Any, **kwargs: Any) -> torch.Tensor:
            x: torch.Tensor = allocate(*args, **kwargs)
            if x.dtype == torch.bool:
                return x
            with torch.no_grad():
                return x.fill_(torch.nan if x.dtype.is_floating_point else torch.iinfo(x.dtype).min)

        return allocate_and_fill

    # torch notes its constructors at the first such context, and should note the true ones: else no later model of the
    # process could be made without memory.
    with torch.device("meta"):
        torch.empty(0)
    with (
        mock.patch.object(torch, "empty", poisoned(torch.empty)),
        mock.patch.object(torch, "empty_like", poisoned(torch.empty_like)),
        mock.patch.object(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty)),
    ):
        yield


def tensors_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers, those that are not saved included."""
    return {name: x.detach() for name, x in (*model.named_parameters(), *model.named_buffers())}


def uninitialised(model: torch.nn.Module) -> list[str]:
    """Names of tensors that still hold poison."""
    names = []
    for name, x in tensors_of(model).items():
        if x.dtype == torch.bool:
            continue
        lost = ~x.isfinite() if x.is_floating_point() else x == torch.iinfo(x.dtype).min
        if lost.any():
            names.append(name)
    return names


def drawn_by_loading(subject: Subject, seed: int, state: dict[str, torch.Tensor] | None = None) -> Any:
    """A model whose weights, but for those in `state`, the loader had to draw."""
    torch.manual_seed(seed)
    with poisoned_memory():
        return subject.model_class.from_pretrained(None, config=subject.config(), state_dict=state or {})


class InitialisationChecks:
    @through_heads
    def test_every_tensor_is_initialised(self, subject: Subject) -> None:
        with poisoned_memory():
            constructed = subject.new_model()
        assert uninitialised(constructed) == []
        assert uninitialised(drawn_by_loading(subject, 0)) == []

    @through_heads
    def test_loading_draws_like_construction(self, subject: Subject) -> None:
        constructed = [tensors_of(subject.new_model(seed)) for seed in range(DRAWS)]
        loaded = [tensors_of(drawn_by_loading(subject, 100 + seed)) for seed in range(DRAWS)]
        assert constructed[0].keys() == loaded[0].keys()
        for name in constructed[0]:
            ours = torch.stack([draw[name] for draw in constructed]).double()
            theirs = torch.stack([draw[name] for draw in loaded]).double()
            # What is the same in every draw (zero rows, zero biases, fixed buffers) must be the same number in both.
            fixed = (ours == ours[0]).all(dim=0)
            assert torch.equal(fixed, (theirs == theirs[0]).all(dim=0)), f"{name}: fixed at other places"
            assert torch.equal(ours[0][fixed], theirs[0][fixed]), f"{name}: other fixed values"
            ours, theirs = ours[:, ~fixed], theirs[:, ~fixed]
            if ours.numel():
                # Five standard errors; a uniform or normal sample of n has a standard deviation within sd / sqrt(2n).
                width = 5 / ours.numel() ** 0.5
                assert (ours.mean() - theirs.mean()).abs() < width * 2**0.5 * ours.std(), f"{name}: another mean"
                assert (theirs.std() / ours.std()).log().abs() < width, f"{name}: another spread"

    @through_heads
    def test_given_weights_are_kept_when_others_are_drawn(self, subject: Subject) -> None:
        given = subject.new_model(seed=1).state_dict()
        for parity in (0, 1):
            # Every other tensor, so that modules are filled in part.
            part = {name: x for place, (name, x) in enumerate(given.items()) if place % 2 == parity}
            model = drawn_by_loading(subject, 2, {name: x.clone() for name, x in part.items()})
            state = model.state_dict()
            for name, x in part.items():
                assert torch.equal(state[name], x), f"{name} was given and drawn again"
            assert uninitialised(model) == []
