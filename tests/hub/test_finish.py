"""Results of a run name no place of the machine."""

from __future__ import annotations

import pytest

from ctxzoo.hub.finish import _public


@pytest.mark.parametrize(
    ("dataset", "shown"),
    [
        ("SetFit/CR", "SetFit/CR"),
        ("sample", "sample"),
        ("data/texts.csv", "data/texts.csv"),
        ("/home/someone/reviews/texts.csv", "texts.csv"),
        ("~/reviews", "reviews"),
    ],
)
def test_a_dataset_given_by_its_path(dataset: str, shown: str) -> None:
    assert _public(dataset) == shown
