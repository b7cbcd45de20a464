"""Names and ids that callers give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.ops_names import ids_of_names


def ids_of(given: Any) -> list[int]:
    return ids_of_names(given, 3, lambda number: "abc"[number - 1], "item")


@pytest.mark.parametrize(
    "given", [["a", "c"], [1, 3], ["a", 3], np.array([1, 3]), torch.tensor([1, 3]), (np.int32(1), "c")]
)
def test_names_and_whole_numbers_of_any_kind(given: Any) -> None:
    assert ids_of(given) == [1, 3]


@pytest.mark.parametrize("given", [["z"], [0], [4], [True], [1.0], [None], np.array([1.5])])
def test_what_is_no_item_is_named(given: Any) -> None:
    with pytest.raises(ValueError, match=r"does not know the item .*: expected one of its 3 names, such as 'a', or a"):
        ids_of(given)


@pytest.mark.parametrize("given", [[], "abc", np.array([])])
def test_a_history_is_a_list_of_one_or_more(given: Any) -> None:
    with pytest.raises(ValueError, match="expected a list of one item or more"):
        ids_of(given)
