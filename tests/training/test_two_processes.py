"""`ctxzoo train` in two processes, for every problem: scores, rows, an interruption, what is written and printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ctxzoo.cli.main import main
from ctxzoo.tasks import PROBLEMS
from tests.support.doors import offline
from tests.support.problem_files import FILES
from tests.support.warm_python import run_warm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

EPOCHS, INTERRUPTED = 2, 130
PROGRAM = """
from pathlib import Path
from tests.support.two_processes import train_twice
train_twice(Path({folder!r}), {arguments!r})
"""


@dataclass(frozen=True)
class Case:
    """A small training of a problem.

    Attributes:
        rows: Rows of training; None: of a problem whose batches are no rows.
        size: Rows of a batch, so few that each process has some.
        option: Option that sets it.
        more: Further options.
    """

    rows: int | None
    size: int = 4
    option: str = "--batch_size"
    more: tuple[str, ...] = ()


CASES = {
    "text-classification": Case(39),
    "token-classification": Case(57),
    "question-answering": Case(28),
    "language-modelling": Case(None, 2),
    "regression": Case(49, 10, "--rows_per_step"),
    "session-recommendation": Case(48),
    "next-event": Case(48),
    "vote-prediction": Case(30),
    "polyphonic-music": Case(40),
    "fill-mask": Case(None, 50, more=("--backend", "torch")),
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
        *("--devices", "2", "--strategy", "ddp", case.option, str(case.size), *case.more),
    ]
    run_warm(PROGRAM.format(folder=str(tmp_path), arguments=arguments), env=offline())
    seen = [json.loads((tmp_path / f"seen-{rank}.json").read_text()) for rank in range(2)]
    assert [one["statuses"] for one in seen] == [[0, INTERRUPTED]] * 2

    whole, parts = (read_result(tmp_path / name) for name in ("whole", "parts"))
    # The loss of an epoch that was resumed is that of its rest.
    same = [name for name in whole["metrics"] if name not in ("train/epoch1/loss", "words_per_second")]
    assert {name: parts["metrics"][name] for name in same} == {name: whole["metrics"][name] for name in same}
    weights = [load_file(find_checkpoint(tmp_path / name) / "model.safetensors") for name in ("whole", "parts")]
    assert all(torch.equal(weights[0][name], weight) for name, weight in weights[1].items())

    if case.rows is not None:
        batches = [one["rows"] for one in seen]
        steps = len(batches[0]) // EPOCHS
        assert len(batches[1]) == len(batches[0]) == whole["metrics"]["steps"] == EPOCHS * steps
        for epoch in range(EPOCHS):
            rows = [row for one in batches for batch in one[epoch * steps : (epoch + 1) * steps] for row in batch]
            assert len(rows) == len(set(rows))
            left_out = case.rows - len(rows)  # a batch that only one process would have
            assert 0 < left_out <= case.size if -(-case.rows // case.size) % 2 else left_out == 0

    splits = next((tmp_path / "whole").rglob("data-*/test.parquet")).parent
    of_test = {name[len("test/") :]: value for name, value in whole["metrics"].items() if name.startswith("test/")}
    scores = score_in_one_process(find_checkpoint(tmp_path / "whole"), splits, capsys)
    assert of_test == pytest.approx({name: scores[name] for name in of_test}, rel=1e-4, abs=1e-4)

    printed = [(tmp_path / f"printed-{rank}.txt").read_text() for rank in range(2)]
    assert printed[0].count("use it:") == 2
    assert printed[1] == ""


def score_in_one_process(checkpoint: Path, splits: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    words = ["evaluate", str(checkpoint), "--dataset", str(splits), "--split", "test"]
    assert main([*words, "--device", "cpu", "--json"]) == 0
    scores: dict[str, float] = json.loads(capsys.readouterr().out)["metrics"]
    return scores
