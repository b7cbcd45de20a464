from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep downloads and data folders of the tests apart from the user's."""
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"
