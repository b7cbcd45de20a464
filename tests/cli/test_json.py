"""What commands print for programs and shells."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli import completion
from ctxzoo.cli.main import main


def read_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, str, int]:
    """What a command prints with `--json`, what it says beside it, and its exit status."""
    status = main([*words, "--json"])
    said = capsys.readouterr()
    return json.loads(said.out), said.err, status


def test_architectures_and_checkpoints(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed, _, _ = read_json(capsys, "list")
    (bidaf,) = (one for one in listed if one["architecture"] == "bidaf")
    assert "learned_char3" in bidaf["variants"]
    told, _, status = read_json(capsys, "info", "bidaf")
    assert [one["variant"] for one in told["variants"]] == bidaf["variants"]
    assert status == 0
    told, _, _ = read_json(capsys, "info", str(checkpoint))
    assert {one["field"]: one["value"] for one in told["fields"]}["hidden_size"] == 8
    assert sum(part["total"] for part in told["parts"]) == told["total"]


def test_scores_with_what_is_noted_beside_them(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, beside, status = read_json(capsys, "evaluate", str(checkpoint), "--dataset", "sample", "--batch_size", "8")
    assert status == 0
    assert 0 <= told["metrics"]["f1"] <= 100
    assert told["checkpoint"] == str(checkpoint)
    assert "{" not in beside


def test_datasets(capsys: pytest.CaptureFixture[str]) -> None:
    assert "stanfordnlp/imdb" in {one["name"] for one in read_json(capsys, "data", "list")[0]}


def test_completion_knows_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    script = completion.format_completion("bash")
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert all(word in script for word in ("evaluate", "--batch_size", "--json"))
    with pytest.raises(ValueError, match="fish: expected one of bash, zsh, tcsh"):
        completion.format_completion("fish")
    monkeypatch.setattr(completion, "is_installed", lambda package: False)
    with pytest.raises(ImportError, match="pip install shtab"):
        completion.format_completion("bash")
