"""What the house measures."""

from __future__ import annotations

from pathlib import Path

from reports.house import measure_checkout


def test_files_lines_and_the_older_ways_are_counted(tmp_path: Path) -> None:
    problem = tmp_path / "ctxzoo" / "tasks" / "token_classification"
    problem.mkdir(parents=True)
    (problem / "a.py").write_text("class Settings:\n    learning_rate: float = 0.1\n    momentum: float = 0.0\n")
    (problem / "b.py").write_text("from x import PresetOfOthers\nPreset = 1\n")
    found = dict(measure_checkout(tmp_path))
    assert found["package: files / lines"] == found["token classification: files / lines"] == "2 / 5"
    assert found["recipes: files / lines"] == "0 / 0"
    assert found["places that declare a learning rate"] == "1"
    assert (found["files that name `Preset`"], found["files that name `RunSpec`"]) == ("1", "0")
