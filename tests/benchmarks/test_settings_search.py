from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import settings_search
from benchmarks.reporting import read_rows
from benchmarks.settings_search import main
from ctxzoo.runs.tuning import EndedTrial, Search

TRIED = [0.5, None, 0.75, 0.25, 0.0, 9.0]  # scores of trials; the last one is never asked for


def test_the_best_of_the_trials_stands_beside_the_usual_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def planted(search: Search, *, minutes: float, seed: int, resume: bool) -> Iterator[EndedTrial]:
        for number, score in enumerate(TRIED):
            settings = search.start.copy_with(hidden_size=10 + number) if number else search.start
            yield EndedTrial(number, settings, 30.0, score, "" if score is not None else "ended after 1 epoch")

    def scored(run: Any, *, quiet: bool) -> Any:
        assert run.split == "test"
        size, objective = run.experiment.model.hidden_size, run.problem.objective
        return SimpleNamespace(metrics={f"test/{objective}": float(size)})

    monkeypatch.setattr(settings_search, "run_trials", planted)
    monkeypatch.setattr(settings_search, "execute", scored)
    problems = ("session-recommendation", "polyphonic-music")
    monkeypatch.setattr(settings_search, "SETS", dict.fromkeys(problems, ("--data", "sample", "--hidden_size", "6")))
    main(["--trials", "5", "--out", str(tmp_path / "a.csv")])

    rows = {row["problem"]: row for row in read_rows(tmp_path / "a.csv")}
    higher, lower = rows["session-recommendation"], rows["polyphonic-music"]
    names = ("usual_validation", "best_validation", "best_trial", "usual_test", "best_test", "trials", "ended_early")
    assert [float(higher[name]) for name in names] == [0.5, 0.75, 2, 6, 12, 5, 1]
    assert [float(lower[name]) for name in names] == [0.5, 0.0, 4, 6, 14, 5, 1]
    assert all(row["is_better"] == "1" and float(row["seconds"]) == 150 for row in rows.values())
    shown = capsys.readouterr().out
    assert "| `sample` | hcrnn hcrnn3_bi | mrr at 20 | 0.50 | 0.75 | 6.00 | 12.00 | 5 | 1 | 2.5 |" in shown
