"""What tests share that write datasets."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of folders that a test writes stays in none of the user's."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
