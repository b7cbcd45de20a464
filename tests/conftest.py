"""What holds for all tests: those of real data need the data; and the fixtures that several folders of tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from tests.support.drawn_figures import drawn  # noqa: F401
from tests.support.hub_fixtures import checkpoint, here, server, whole_checkpoint  # noqa: F401
from tests.support.own_cache import own_cache  # noqa: F401
from tests.support.small_sample import small_sample  # noqa: F401

DATA_DIR_VARIABLE = "CTXZOO_DATA"
os.environ["XDG_DATA_HOME"] = os.devnull  # no test finds the datasets that the user has got


def pytest_collection_finish() -> None:
    """Have the garbage collector look at what tests make, not at modules and collected tests, millions of objects."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data") is None:
        return
    folder = os.environ.get(DATA_DIR_VARIABLE, "")
    if not folder:
        pytest.skip(f"real data: {DATA_DIR_VARIABLE} names no folder of datasets")
    if not Path(folder).is_dir():
        pytest.fail(f"{DATA_DIR_VARIABLE} is {folder!r}, which is no folder; unset it to leave real data out")
