"""What `ctxzoo train` prints and leaves of the simple models beside a user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.results.result import RunResult, read_result


def result_of(variant: str) -> RunResult:
    """The results of a baseline below the working folder, which stands there once."""
    (file,) = Path("runs/results").rglob(f"{variant}-*.json")
    return read_result(file)


def check_baselines(
    command: Sequence[str],
    lines: Sequence[str],
    variants: Sequence[str],
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Train with baselines beside the model, without, with them again, and go on; return what the second training said.

    Args:
        command: What follows `ctxzoo`, with `--tiny`; files lie in the working folder, to which all is written.
        lines: What the lines of the baselines say, from their beginnings on, in their order.
        variants: Names of the baselines in results files.
        capsys: Fixture of pytest.
    """
    assert main([*command, "--baselines", "no"]) == 0
    assert "beside it" not in capsys.readouterr().out
    (model,) = Path("runs/results").rglob("*.json")
    written = model.read_bytes()
    assert main([*command, "--resume"]) == 0
    said = capsys.readouterr().out
    assert model.read_bytes() == written  # baselines decide nothing of the model
    places = [said.index(f"\n{line}") for line in lines]
    assert places == sorted(places)
    rows = next(Path("runs").rglob("data-*/")).name
    before = {variant: result_of(variant) for variant in variants}
    assert all(list(Path("runs/results").rglob(f"{variant}-*-{rows}.json")) for variant in variants)
    for result in before.values():
        assert result.dataset == read_result(model).dataset
        # Fitted on the same rows: both have read the same ones.
        assert result.data["fingerprint"] == read_result(model).data["fingerprint"]
    files = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in Path("runs/results").rglob("*.json")}
    assert len(files) == 1 + len(variants)
    assert main([*command, "--resume"]) == 0
    # None is written, and so none fitted, again.
    assert files == {
        file: (file.stat().st_mtime_ns, file.read_bytes()) for file in Path("runs/results").rglob("*.json")
    }
    kept = capsys.readouterr().out
    assert [kept[kept.index(f"\n{line}") :].splitlines()[1] for line in lines] == [
        said[place:].splitlines()[1] for place in places
    ]
    return said
