"""`ctxzoo.train`: the command as a function, whose files the command goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

import ctxzoo
from ctxzoo.cli.main import main


def write_rows(folder: Path) -> Path:
    words = ("good", "yes"), ("bad", "no")
    rows = [f"{a} lamp number {number},{label}" for number in range(30) for a, label in words]
    file = folder / "lamps.csv"
    file.write_text("\n".join(["said,label", *rows]))
    return file


def test_it_trains_as_the_command_does_which_finds_it_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_rows(tmp_path)
    places = {"output_dir": tmp_path / "runs", "tiny": True, "baselines": False, "text_column": ["said"], "seed": 3}
    trained = ctxzoo.train("text-classification", file, precision="32-true", **places)
    assert trained.result.seed == 3
    assert trained.metrics["test/accuracy"] == trained.result.metrics["test/accuracy"]
    assert ctxzoo.pipeline(trained.checkpoint)("good lamp")[0]["label"] in ("yes", "no")
    capsys.readouterr()
    typed = f"--data {file} --output_dir {tmp_path / 'runs'} --tiny --baselines no --text_column said --seed 3 --resume"
    assert main(["train", "text-classification", *typed.split(), "--precision", "32-true"]) == 0
    assert "finished before" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("problem", "data", "options", "error", "message"),
    [
        (
            "text-clasification",
            "rows.csv",
            {},
            ValueError,
            "unknown problem 'text-clasification'; ctxzoo trains .*word-",
        ),
        ("regression", [1, 2], {}, TypeError, "data is a list; expected a file, a folder or a Hub id"),
        ("text-classification", "rows.csv", {"epoch": 3}, ValueError, "unrecognized arguments: --epoch=3"),
        ("text-classification", "rows.csv", {"epochs": 0}, ValueError, "epochs=0: expected"),
        ("text-classification", "rows.csv", {}, OSError, "rows.csv"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
    data: object,
    options: dict[str, int],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        ctxzoo.train(problem, data, **options)  # type: ignore[arg-type]
