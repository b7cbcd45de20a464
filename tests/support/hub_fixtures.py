"""One tiny checkpoint for all tests that only read it, and copies for those that damage it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from tests.support.hub_server import HubServer
from tests.support.tiny_checkpoint import write_tiny


@pytest.fixture(scope="session")
def whole_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("whole") / "bidaf-tiny")


@pytest.fixture
def checkpoint(whole_checkpoint: Path, tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(whole_checkpoint, tmp_path / whole_checkpoint.name)
    return copied


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


@pytest.fixture
def here(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The client of this process talks to the loopback Hub, with a cache of its own."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, server.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setenv("HF_TOKEN", "dummy")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    close_session()
    yield server
    close_session()
