"""Results as runs leave them, and Markdown tables read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ctxzoo.results.result import RunResult


def make_run(variant: str = "baseline", seed: int = 1, f1: float = 40.0, **changes: Any) -> RunResult:
    settings = {"epochs": 3, "extensions": [], "finish_source": None, "batch_size": 64} | changes.pop("settings", {})
    metrics = {"test/exact": f1 - 10, "test/f1": f1, "validation/f1": f1 + 1, "epochs": settings["epochs"]}
    run = RunResult(
        recipe="squad_bidaf",
        architecture="bidaf",
        variant=variant,
        dataset="ctxzoo-data/squad_v1_mini",
        split="test",
        fold=None,
        seed=seed,
        metrics=metrics | changes.pop("metrics", {}),
        settings=settings,
        parameters={"trainable": 1_439_405, "total": 9_000_000},
        command="python recipes/squad_bidaf.py",
        commit="0123abc",
        data={"source": "ctxzoo-data/squad_v1_mini", "fingerprint": "00ff00ff00ff"},
        hardware={"cpu": "Some CPU"},
        versions={"python": "3.11.2"},
        wall_seconds=600.0,
        peak_memory_mb=900.0,
    )
    return replace(run, **changes)


def make_folds(
    accuracies: Sequence[float], *, settings: dict[str, Any] | None = None, **changes: Any
) -> list[RunResult]:
    """Runs of a cross-validation of five folds with these test accuracies; by default the Contextualizer on CR.

    Accuracy on validation is one above, macro F1 two below that on test.
    """
    changes = {
        "recipe": "sentence_contextualizer",
        "architecture": "contextualizer",
        "variant": "learned_embeddings",
        "dataset": "SetFit/CR",
        "seed": 0,
        "data": {"source": "SetFit/CR", "fingerprint": "00ff"},
        "settings": {"folds": 5, "tiny": False, "epochs": 10, "dropout": 0.0} | (settings or {}),
    } | changes
    metrics = [
        {"test/accuracy": value, "test/macro_f1": value - 2, "validation/accuracy": value + 1} for value in accuracies
    ]
    base = replace(make_run(), **changes)
    return [replace(base, fold=fold, metrics=scores) for fold, scores in enumerate(metrics)]


def rows(table: str) -> dict[str, dict[str, str]]:
    """Cells of a Markdown table by row name and heading; every line must have as many cells as the heading."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert {len(line) for line in cells} == {len(cells[0])}
    assert len({line[0] for line in cells}) == len(cells)
    return {line[0]: dict(zip(cells[0][1:], line[1:], strict=True)) for line in cells[2:]}
