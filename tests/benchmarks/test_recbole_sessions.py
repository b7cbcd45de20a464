"""Sessions beside RecBole: its files hold our predictions, and the table says whether the aim is reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.recbole_sessions import (
    OURS,
    PEER,
    build_recbole_settings,
    change_working_folder,
    main,
    write_interactions,
)
from benchmarks.recbole_sessions_tables import format_recbole_sessions_table
from benchmarks.reporting import read_rows
from ctxzoo.tasks.sequences.data import SessionDataModule
from ctxzoo.tasks.sequences.experiments import build_session_paper_experiment


def test_its_files_hold_every_prediction_of_ours(tmp_path: Path) -> None:
    data = SessionDataModule("sample")
    data.setup()
    write_interactions(data, tmp_path / "sessions")
    lines = (tmp_path / "sessions" / "sessions.test.inter").read_text().splitlines()[1:]
    read = [(line.split("\t")[1].split(), line.split("\t")[2]) for line in lines]
    sessions = data.sequences("test")
    assert len(read) == sum(len(session) - 1 for session in sessions)
    first = [str(item) for item in sessions[0]]
    assert read[: len(first) - 1] == [(first[:step], first[step]) for step in range(1, len(first))]
    assert (tmp_path / "sessions" / "sessions.valid.inter").exists()


def test_what_it_leaves_beside_it_lies_in_the_folder_of_the_run(tmp_path: Path) -> None:
    before = Path.cwd()
    with change_working_folder(tmp_path):
        Path("log_tensorboard").mkdir()
    assert (tmp_path / "log_tensorboard").is_dir()
    assert Path.cwd() == before


def test_its_settings_follow_ours(tmp_path: Path) -> None:
    changes = {"learning_rate": 0.02, "embedding_dropout": 0.1, "pooled_dropout": 0.4, "patience": 3}
    settings = build_session_paper_experiment("session_baseline", "narm").copy_with(**changes)
    found = build_recbole_settings(settings, "narm", tmp_path / "sessions")
    assert (found["learning_rate"], found["dropout_probs"], found["stopping_step"]) == (0.02, [0.1, 0.4], 3)
    assert build_recbole_settings(settings, "gru4rec", tmp_path / "sessions")["dropout_prob"] == 0.1


def test_the_table_compares_the_seconds_of_an_epoch() -> None:
    scores = {"parameters": "1000", "validation_recall": "20", "recall": "21", "mrr": "7", "epochs": "9"}
    seconds = [("gru4rec", OURS, "2.0"), ("gru4rec", PEER, "8.0"), ("narm", OURS, "3.0"), ("narm", PEER, "2.0")]
    rows = [{"model": model, "side": side, "seconds": value, **scores} for model, side, value in seconds]
    lines = format_recbole_sessions_table(rows).splitlines()
    assert lines[2] == "| GRU4REC | ctxzoo | 1,000 | 20.00 | 21.00 | 7.00 | 9 | 2.0 | 0.25 | reached |"
    assert lines[4].endswith("| 3.0 | 1.50 |  |")


@pytest.mark.slow
def test_it_runs_where_recbole_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("recbole")
    main(["--quick", "--out", str(tmp_path / "a.csv")])
    assert [row["side"] for row in read_rows(tmp_path / "a.csv")] == [OURS, PEER, OURS, PEER]
