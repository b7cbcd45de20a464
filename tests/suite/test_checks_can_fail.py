"""Each check passes on a sound toy model and fails on the same model with the flaw that it is there to find."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import initialization as init

from tests.suite.model_suite import ModelSuite
from tests.suite.subjects import Subject
from tests.support.text_case import CLASSIFIER
from tests.support.toy.case import CASE, TOY
from tests.support.toy.modeling_toy import ToyForSequenceClassification, ToyGates, ToyModel

Flaw = tuple[type[torch.nn.Module], str, Callable[..., Any]]  # a class, and what it does in place of one of its methods
weigh, fill = ToyGates.forward, ToyGates.reset_parameters
build, read, score = ToyModel.__init__, ToyModel.forward, ToyForSequenceClassification.compute_logits


class TwiceTheGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


def mixes_rows(self: ToyGates, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return weigh(self, x + x.mean(dim=0), mask)


def forgets_a_buffer(self: ToyGates) -> None:
    init.normal_(self.weight)


def draws_over_given_weights(self: ToyGates) -> None:
    fill(self)
    self.weight.data.normal_()


def loses_state(self: ToyGates) -> None:
    fill(self)
    init.normal_(self.scale)


def starts_elsewhere(self: ToyModel, config: Any) -> None:
    build(self, config)
    if not self.gates.linear.weight.is_meta:
        with torch.no_grad():
            self.gates.linear.weight.mul_(3)


def scales_a_gradient(self: ToyGates, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return TwiceTheGradient.apply(weigh(self, x, mask))  # type: ignore[no-any-return, no-untyped-call]


def takes_any_id(self: ToyModel, input_ids: Any = None, *others: Any, **named: Any) -> Any:
    return read(self, None if input_ids is None else input_ids.clamp(0, 29), *others, **named)


FLAWS: dict[str, Flaw] = {
    "pads": (ToyGates, "forward", lambda self, x, mask: weigh(self, x, torch.ones_like(mask))),
    "mixes_rows": (ToyGates, "forward", mixes_rows),
    "leaves_float64": (
        ToyForSequenceClassification,
        "compute_logits",
        lambda self, outputs: score(self, outputs).float(),
    ),
    "forgets_a_buffer": (ToyGates, "reset_parameters", forgets_a_buffer),
    "starts_elsewhere": (ToyModel, "__init__", starts_elsewhere),
    "draws_over_given_weights": (ToyGates, "reset_parameters", draws_over_given_weights),
    "loses_state": (ToyGates, "reset_parameters", loses_state),
    "cuts_a_gradient": (ToyGates, "forward", lambda self, x, mask: weigh(self, x, mask).detach()),
    "scales_a_gradient": (ToyGates, "forward", scales_a_gradient),
    "drops_in_eval": (ToyGates, "forward", lambda self, x, mask: weigh(self, F.dropout(x, 0.3), mask)),
    "takes_any_id": (ToyModel, "forward", takes_any_id),
}
FINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("pads", "longer_padding_changes_nothing", {"padding": "zeros"}),
    ("pads", "other_rows_change_nothing", {}),
    ("mixes_rows", "other_rows_change_nothing", {}),
    ("mixes_rows", "loss_of_a_batch_is_the_mean_of_its_rows", {}),
    ("leaves_float64", "longer_padding_changes_nothing", {"padding": "zeros"}),
    ("forgets_a_buffer", "every_tensor_is_initialised", {}),
    ("starts_elsewhere", "loading_draws_like_construction", {}),
    ("draws_over_given_weights", "given_weights_are_kept_when_others_are_drawn", {}),
    ("loses_state", "saved_and_loaded_bit_for_bit", {}),
    ("cuts_a_gradient", "every_trained_parameter_receives_a_gradient", {}),
    ("scales_a_gradient", "gradients_equal_differences", {}),
    ("drops_in_eval", "eval_repeats_itself_and_draws_nothing", {}),
    ("takes_any_id", "bad_input_is_named", {}),
]


def _run(check: str, arguments: dict[str, Any], folder: Path) -> None:
    subject = Subject(TOY, CASE, "plain", CLASSIFIER)
    function = getattr(ModelSuite(), f"test_{check}")
    if "tmp_path" in inspect.signature(function).parameters:
        arguments = {**arguments, "tmp_path": folder}
    function(subject, **arguments)


@pytest.mark.parametrize(("flaw", "check", "arguments"), FINDS)
def test_check_finds_the_flaw_and_nothing_else(
    flaw: str, check: str, arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(check, arguments, tmp_path)
    monkeypatch.setattr(*FLAWS[flaw])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _run(check, arguments, tmp_path)
