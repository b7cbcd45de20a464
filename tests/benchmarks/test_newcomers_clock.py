"""The steps of a newcomer: a command that ends, one that answers over HTTP, and those that do neither."""

import sys
from pathlib import Path

import pytest

from benchmarks.newcomers_clock import Step, find_free_port, take_step


def test_a_row_holds_what_a_command_took_and_wrote(tmp_path: Path) -> None:
    row = take_step(Step("write", "sleep .2; head -c 2000000 /dev/zero > out", "out"), tmp_path, tmp_path)

    assert row["step"] == "write"
    assert row["disk_mb"] == 2
    assert 0.2 <= float(row["seconds"]) < 20
    assert float(row["memory_mb"]) > 0


def test_a_service_is_asked_until_it_answers_and_then_stopped(tmp_path: Path) -> None:
    port = find_free_port()
    serve = f"sleep .3; exec {sys.executable} -m http.server {port} --bind 127.0.0.1"

    row = take_step(Step("serve", serve, address=f"http://127.0.0.1:{port}/"), tmp_path, tmp_path)

    assert float(row["seconds"]) >= 0.3
    assert "GET /" in (tmp_path / "printed.txt").read_text()


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9/"])
def test_a_step_that_fails_shows_what_it_printed(tmp_path: Path, address: str) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)broken: exit status 3.*no such flag"):
        take_step(Step("broken", "echo no such flag; exit 3", address=address), tmp_path, tmp_path)
