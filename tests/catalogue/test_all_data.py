"""From raw files that are made again of our rows, `build_or_check_dataset` builds exactly our rows: all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.catalogue.build import build_or_check_dataset
from ctxzoo.catalogue.entries import ENTRIES, FINGERPRINTS
from ctxzoo.catalogue.order import load_packaged_arrays
from tests.support import catalogue_facts
from tests.support.file_server import FileServer
from tests.support.raw_files import MAKERS, raw_files, served

pytestmark = pytest.mark.data


def test_every_converter_has_raw_files() -> None:
    assert set(MAKERS) == {name for name in FINGERPRINTS if ENTRIES[name].convert is not None}


@pytest.mark.parametrize("name", MAKERS)
def test_get_builds_our_rows(name: str, data_dir: Path) -> None:
    with FileServer({}) as server:
        entry = served(ENTRIES[name], raw_files(name, catalogue_facts.read), server)
        outcome = build_or_check_dataset(entry, str(data_dir))
    assert {finding.split: finding.fingerprint for finding in outcome.findings} == ENTRIES[name].fingerprints
    assert {finding.state for finding in outcome.findings} == {"same"}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprints_are_those_of_the_data_folder(name: str) -> None:
    assert catalogue_facts.fingerprints(ENTRIES[name]) == ENTRIES[name].fingerprints


def test_stored_orders_are_those_of_the_data_folder() -> None:
    for name, arrays in catalogue_facts.orders().items():
        kept = load_packaged_arrays(name)
        assert set(kept) == set(arrays)
        for key, values in arrays.items():
            np.testing.assert_array_equal(kept[key], values)
