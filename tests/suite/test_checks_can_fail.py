"""Each check passes on a sound toy model and fails on the same model with the flaw that it is there to find."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.suite.model_suite import ModelSuite
from tests.suite.subjects import Subject
from tests.support.toy_architecture import TOY, Flaw, ToyCase

FINDS: list[tuple[Flaw, str, dict[str, Any]]] = [
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


def _run(flaw: Flaw, check: str, arguments: dict[str, Any], folder: Path) -> None:
    subject = Subject(TOY, ToyCase(flaw), "tiny", "AutoModelForSequenceClassification")
    function = getattr(ModelSuite(), f"test_{check}")
    if "tmp_path" in inspect.signature(function).parameters:
        arguments = {**arguments, "tmp_path": folder}
    function(subject, **arguments)


@pytest.mark.parametrize(("flaw", "check", "arguments"), FINDS)
def test_check_finds_the_flaw_and_nothing_else(
    flaw: Flaw, check: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    _run("none", check, arguments, tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _run(flaw, check, arguments, tmp_path)
