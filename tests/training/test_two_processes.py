"""`ctxzoo train` in two processes, for every problem: scores, rows, an interruption, and what is written and printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from ctxzoo.cli.main import main
from ctxzoo.tasks import PROBLEMS
from tests.support.doors import offline
from tests.support.problem_files import FILES
from tests.support.warm_python import run_warm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

EPOCHS = 2
PROGRAM = """
from pathlib import Path
from tests.support.two_processes import train_twice
train_twice(Path({folder!r}), {arguments!r})
"""


@dataclass(frozen=True)
class Case:
    """A small training of a problem.

    Attributes:
        options: So that each process has some batches, an odd number of them in both together.
        dropped: Rows of an epoch that no process reads, as none has a batch of them while the other has not; None: of
            a problem whose batches are no rows.
        loose: Scores whose value depends on the last bits of sums in float32.
    """

    options: tuple[str, ...] = ("--batch_size", "4")
    dropped: int | None = None


CASES = {
    "text-classification": Case(dropped=0),
    "token-classification": Case(dropped=0),
    "question-answering": Case(dropped=0),
    "session-recommendation": Case(dropped=0),
    "next-event": Case(dropped=0),
    "vote-prediction": Case(("--batch_size", "8"), dropped=0),
    "polyphonic-music": Case(dropped=0),
    "language-modelling": Case(("--batch_size", "2")),
    "regression": Case(("--rows_per_step", "10")),
    "fill-mask": Case(("--backend", "torch", "--batch_size", "50", "--test_split", "test")),
}


def read_result(output: Path) -> dict[str, Any]:
    """The results file of the network, which lies beside those of baselines."""
    results = [json.loads(file.read_text()) for file in (output / "results").rglob("*.json")]
    (found,) = (one for one in results if one["settings"].get("world_size") == 2)
    return found


def find_checkpoint(output: Path) -> Path:
    (found,) = output.rglob("checkpoint")
    return found


@pytest.mark.parametrize("problem", PROBLEMS)
def test_two_processes_train_as_one(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[problem]
    data = FILES[problem].write(tmp_path)
    arguments = [
        *("train", problem, "--data", str(data), "--tiny", "--epochs", str(EPOCHS), "--accelerator", "cpu"),
        *("--devices", "2", "--strategy", "ddp", *case.options),
    ]
    run_warm(PROGRAM.format(folder=str(tmp_path), arguments=arguments), env=offline())
    seen = [json.loads((tmp_path / f"seen-{rank}.json").read_text()) for rank in range(2)]
    assert [one["statuses"] for one in seen] == [[0, 130, 0]] * 2

    whole, parts = (read_result(tmp_path / name) for name in ("whole", "parts"))
    of_whole_epochs = {name for name in whole["metrics"] if not name.startswith(("train/", "words_per_second"))}
    assert {name: parts["metrics"][name] for name in of_whole_epochs} == {
        name: whole["metrics"][name] for name in of_whole_epochs
    }
    weights = [load_file(find_checkpoint(tmp_path / name) / "model.safetensors") for name in ("whole", "parts")]
    assert all((weights[0][name] == weight).all() for name, weight in weights[1].items())

    if case.dropped is not None:
        batches = [one["rows"] for one in seen]
        steps = len(batches[0]) // EPOCHS
        assert len(batches[1]) == len(batches[0]) == whole["metrics"]["steps"] == EPOCHS * steps
        for epoch in range(EPOCHS):
            rows = [row for one in batches for batch in one[epoch * steps : (epoch + 1) * steps] for row in batch]
            assert len(rows) == len(set(rows)) == 0 - case.dropped

    rows = next((tmp_path / "whole").rglob("data-*/train.parquet")).parent
    scores = score_in_one_process(find_checkpoint(tmp_path / "whole"), rows, capsys)
    of_test = {name: whole["metrics"][f"test/{name}"] for name in scores if f"test/{name}" in whole["metrics"]}
    assert of_test
    assert of_test == pytest.approx(scores, rel=1e-4, abs=1e-4)

    printed = [(tmp_path / f"printed-{rank}.txt").read_text() for rank in range(2)]
    assert printed[0].count("use it:") == 2
    assert printed[1] == ""


def score_in_one_process(checkpoint: Path, rows: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    assert main(["evaluate", str(checkpoint), "--dataset", str(rows), "--split", "test", "--device", "cpu", "--json"]) == 0
    scores: dict[str, float] = json.loads(capsys.readouterr().out)["metrics"]
    return scores
