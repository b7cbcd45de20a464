"""Names that callers give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.ops_inputs import look_up_rows, number_names

NAMES = ["30", "1", "a"]


@pytest.mark.parametrize(
    "given",
    [
        ["30", "1"],
        [30, 1],
        ["30", 1],
        np.array([30, 1]),
        torch.tensor([30, 1]),
        (np.int32(30), "1"),
        np.array(["30", "1"]),
    ],
)
def test_a_number_is_the_name_that_it_is_written_as(given: Any) -> None:
    assert look_up_rows(given, number_names(NAMES), "item") == [0, 1]


@pytest.mark.parametrize("one", ["z", 0, 2, -1, "01", "1.0", ""])
def test_what_there_is_not_is_named(one: Any) -> None:
    with pytest.raises(
        ValueError, match=r"does not know the item .*: expected one of its 3 names, such as '30' or 'a'"
    ):
        look_up_rows(["a", one], number_names(NAMES), "item")


@pytest.mark.parametrize("one", [True, 1.0, None, np.float64(1.5), b"a"])
def test_what_is_no_name_is_refused(one: Any) -> None:
    with pytest.raises(ValueError, match="is no name of the item: expected text or a whole number"):
        look_up_rows([one], number_names(NAMES), "item")


@pytest.mark.parametrize("given", [[], "abc", np.array([])])
def test_names_are_a_list_of_one_or_more(given: Any) -> None:
    with pytest.raises(ValueError, match="expected a list of one item or more"):
        look_up_rows(given, number_names(NAMES), "item")
