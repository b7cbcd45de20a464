"""A cache of datasets for one test: what is read of folders that it writes stays in none of the user's."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Tests of real data read them where they were prepared before."""
    if "data" not in request.keywords:
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "prepared")
