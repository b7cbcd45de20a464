"""The pictures of kernels, from a checkpoint that a tiny training left."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from ctxzoo.runs.run import execute
from tests.support.classifier_runs import classifier_run
from tests.support.recipe_here import recipe_here

SIZES = {"word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 1, "num_features": 6}
SENTENCE = "a sturdy lamp , but the box was late"


def test_every_figure_is_made(tmp_path: Path) -> None:
    run = classifier_run(tmp_path, architecture="kernel_encoder", variant="mikan", position_dim=None, **SIZES)
    execute(run)
    options = ("--checkpoint", str(run.checkpoint), "--sentence", SENTENCE)
    made = recipe_here(tmp_path, *options, name="context_encoder_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "context_encoder_figures"
    assert {file.stem for file in folder.glob("*.png")} == {"words"}
    assert set(json.loads((folder / "figures.json").read_text())) == {"words"}
    with (folder / "words.csv").open(encoding="utf-8", newline="") as file:
        words = list(csv.DictReader(file))
    known = int(len(words) ** 0.5)
    assert known >= 3
    for query in range(known):
        rows = words[query * known : (query + 1) * known]
        assert sum(float(row["weight"]) for row in rows) == pytest.approx(1, abs=1e-3)
        assert {row["query"] for row in rows} == {words[query]["key"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "gates"), "error: only: unknown 'gates'; known: words"),
        (("--only", "words"), "error: --checkpoint names nothing; give a checkpoint folder or Hub id"),
    ],
)
def test_what_is_missing_is_told(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *arguments, name="context_encoder_figures")
    assert run.returncode == 1
    assert run.stderr.startswith(message)
