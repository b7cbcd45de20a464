"""What `ctxzoo train polyphonic-music` makes of a user's music."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.main import main
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.tasks.polyphonic_music.midi import Grid, write_midi
from ctxzoo.tasks.polyphonic_music.sample import sample_music
from ctxzoo.tasks.polyphonic_music.training import MusicTraining

TRAINING = MusicTraining()
COLUMNS = {"config_name": None, "steps_per_beat": None, "step_seconds": None}


def songs(path: Path, number: int) -> Path:
    pieces = sample_music(train=number)["train"]["notes"][:]
    path.write_text("".join(json.dumps({"notes": piece}) + "\n" for piece in pieces))
    return path


def read(path: Path, **columns: Any) -> Any:
    return TRAINING.read(TrainingRequest(data=str(path), columns={**COLUMNS, **columns}), path.parent)


def test_equal_pieces_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"notes": [[1], [2]]}\n{"notes": [[1], [3]]}\n{"notes": [[1], [2]]}\n')
    rows = read(path)
    assert rows.groups["train"].tolist() == [0, 1, 0]
    assert (rows.unit, rows.together) == ("pieces", "equal pieces")


def test_midi_files_are_read_on_the_grid_that_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "songs"
    for number in range(3):
        write_midi([[number], [number + 1]], folder / f"{number}.mid", Grid(1))
    assert len(read(folder, steps_per_beat=1.0).splits["train"]["notes"][0]) == 2
    assert len(read(folder).splits["train"]["notes"][0]) == 4
    assert len(read(folder, step_seconds=0.125).splits["train"]["notes"][0]) == 8


@pytest.mark.parametrize("settings", ["default", "paper"])
def test_every_setting_makes_a_model(settings: str) -> None:
    for variant in TRAINING.variants("beta_lstm"):
        preset = TRAINING.preset(settings, "beta_lstm", variant)
        for one in (preset, TRAINING.tiny(preset)):
            config = BetaLstmConfig(**one.config)
            assert all(getattr(config, name) == value for name, value in one.config.items())
    assert preset.settings()["divide_by"] == 1.2


def test_a_search_takes_the_lowest_score() -> None:
    assert (TRAINING.objective, TRAINING.lower_is_better) == ("nll", True)
    preset = TRAINING.preset("default", *TRAINING.default)
    assert set(TRAINING.search_space(preset)) == set(TRAINING.space)


def test_music_of_ones_own_goes_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    songs(tmp_path / "own.jsonl", 20)
    assert main(["train", "polyphonic-music", "--data", "own.jsonl", "--tiny"]) == 0
    said = capsys.readouterr().out
    assert "own.jsonl: 20 pieces: 16 train, 2 validation, 2 test (" in said
    assert "--file beginning.mid --output continued.mid" in said
    assert "pipeline" not in said
    (checkpoint,) = Path("runs").rglob("checkpoint")
    command = ["predict", str(checkpoint), "--file", "own.jsonl", "--output", "more.mid", "--steps", "3"]
    assert main(command) == 0
    assert Path("more.mid").read_bytes()[:4] == b"MThd"
    again = ["train", "polyphonic-music", "--data", "own.jsonl", "--tiny", "--init_from", str(checkpoint)]
    assert main(again) == 0
    (_,) = Path("runs").rglob("continued-*/checkpoint")
