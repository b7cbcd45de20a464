"""One tiny checkpoint for all tests that only read it, and copies for those that damage it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hub.tiny_checkpoint import write_tiny


@pytest.fixture(scope="session")
def whole_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("whole") / "bidaf-tiny")


@pytest.fixture
def checkpoint(whole_checkpoint: Path, tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(whole_checkpoint, tmp_path / whole_checkpoint.name)
    return copied
