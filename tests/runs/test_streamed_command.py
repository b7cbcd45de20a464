"""`ctxzoo train --streaming`: what it says and leaves, and that the command goes on with its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.data import stream_pass
from tests.support.streamed_runs import write_texts


@pytest.mark.slow
def test_a_streamed_training_says_what_was_sampled_and_its_files_are_read_again(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_pass, "MOST_SAMPLED", 100)
    data = write_texts(tmp_path / "shards", 300)
    places = {"output_dir": tmp_path / "runs", "tiny": True, "baselines": False, "precision": "32-true"}
    trained = ctxzoo.train("text-classification", data, streaming=True, shuffle_buffer=50, **places)
    said = capsys.readouterr().out
    assert "shards: 300 texts: " in said
    assert "shards: 100 of 240 texts of train, drawn at random, for the vocabulary, the linear part" in caplog.text
    assert "linear part, fitted to 100 texts of train" in said
    assert trained.result.settings["streaming"] is True
    card = (trained.checkpoint / "README.md").read_text()
    assert "- training rows were read from the disk; what needs all rows at once" in card
    (folder,) = (tmp_path / "runs" / "train_text_classification").glob("data-*")
    scores = tmp_path / "scores.json"
    assert main(["evaluate", str(trained.checkpoint), "--dataset", str(folder), "--output", str(scores)]) == 0
    metrics = json.loads(scores.read_text())["metrics"]
    assert metrics["nll"] == pytest.approx(trained.metrics["test/nll"], rel=1e-4)
    capsys.readouterr()
    typed = f"--data {data} --output_dir {tmp_path / 'runs'} --tiny --baselines no --streaming --shuffle_buffer 50"
    assert main(["train", "text-classification", *typed.split(), "--precision", "32-true", "--resume"]) == 0
    assert "finished before" in capsys.readouterr().out


def test_a_problem_that_reads_all_rows_at_once_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "regression", "--data", "houses.csv", "--target_column", "price", "--streaming"]) == 2
    assert "regression reads all rows at once; leave it out" in capsys.readouterr().err
