"""What holds for all tests: those of real data need the data; and the fixtures that several folders of tests share."""

from __future__ import annotations

import gc
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

DATA_DIR_VARIABLE = "CTXZOO_DATA"
os.environ["XDG_DATA_HOME"] = os.devnull  # no test finds the datasets that the user has got

SHARED_FIXTURES = ("hub_fixtures", "drawn_figures", "own_cache", "small_sample")


def pytest_configure(config: pytest.Config) -> None:
    hands_out_only = getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")
    if hands_out_only:
        return  # pytest-xdist's first process runs no test: it is spared importing torch
    gc.disable()  # nothing of what is imported and collected is garbage
    for name in SHARED_FIXTURES:
        config.pluginmanager.import_plugin(f"tests.support.{name}")
    _catch_logs_on_request(config)
    _seed_what_is_there()
    _render_pictures_of_trainings_once()


def _catch_logs_on_request(config: pytest.Config) -> None:
    """Have pytest put its handlers on every logger, of which torch has many, for tests that ask for `caplog` alone."""
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    if plugin is None:
        return
    catch = plugin._runtest_for

    def catch_on_request(item: Any, when: str) -> Any:
        return catch(item, when) if "caplog" in item.fixturenames else nullcontext()

    plugin._runtest_for = catch_on_request


def _seed_what_is_there() -> None:
    """Have `torch.manual_seed` queue nothing for devices that are not there: it writes down the stack for each."""
    import torch

    for devices in (torch.cuda, torch.xpu, torch.mtia):
        if not devices.is_available():
            devices.manual_seed_all = lambda seed: None


def _render_pictures_of_trainings_once() -> None:
    from ctxzoo.runs import finish
    from tests.support.run_pictures import with_blank_repeats

    finish._draw_figures = with_blank_repeats(finish._draw_figures)


def pytest_collection_finish() -> None:
    """Have the garbage collector look at what tests make, not at modules and collected tests, millions of objects."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data") is None:
        return
    folder = os.environ.get(DATA_DIR_VARIABLE, "")
    if not folder:
        pytest.skip(f"real data: {DATA_DIR_VARIABLE} names no folder of datasets")
    if not Path(folder).is_dir():
        pytest.fail(f"{DATA_DIR_VARIABLE} is {folder!r}, which is no folder; unset it to leave real data out")
