"""What `ctxzoo train polyphonic-music` makes of a user's music."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.reading_notes import LEFT_OUT
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, build_paper_experiment
from ctxzoo.tasks.polyphonic_music.midi import Grid, write_midi
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.tasks.polyphonic_music.reader import sample_music
from tests.support.baselines import check_baselines, result_of
from tests.support.own_trainings import config_of


def songs(path: Path, number: int) -> Path:
    pieces = sample_music(train=number)["train"]["notes"][:]
    path.write_text("".join(json.dumps({"notes": piece}) + "\n" for piece in pieces))
    return path


def read(path: Path, **columns: Any) -> Any:
    return POLYPHONIC_MUSIC.read_user_data(
        build_paper_experiment().copy_with(dataset=str(path), **columns), {}, path.parent
    )


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
    for variant in CELLS:
        experiment = POLYPHONIC_MUSIC.get_settings(settings, "beta_lstm", variant)
        for one in (experiment, POLYPHONIC_MUSIC.make_tiny(experiment)):
            POLYPHONIC_MUSIC.check(one)
            config = BetaLstmConfig(**config_of(one))
            assert all(getattr(config, name) == value for name, value in config_of(one).items())
    assert experiment.settings()["divide_by"] == 1.2


def test_a_search_takes_the_lowest_score() -> None:
    assert (POLYPHONIC_MUSIC.objective, POLYPHONIC_MUSIC.lower_is_better) == ("nll", True)


def test_music_of_ones_own_goes_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    songs(tmp_path / "own.jsonl", 20)
    assert main(["train", "polyphonic-music", "--data", "own.jsonl", "--tiny"]) == 0
    said = capsys.readouterr().out
    assert "own.jsonl: 20 pieces: 16 train, 2 validation, 2 test (" in said
    assert "/test.parquet --row 0 --output continued.mid" in said
    assert "ctxzoo.pipeline(" in said
    (checkpoint,) = Path("runs").rglob("checkpoint")
    command = ["predict", str(checkpoint), "--file", "own.jsonl", "--output", "more.mid", "--steps", "3"]
    assert main(command) == 0
    assert Path("more.mid").read_bytes()[:4] == b"MThd"
    again = ["train", "polyphonic-music", "--data", "own.jsonl", "--tiny", "--init_from", str(checkpoint)]
    assert main(again) == 0
    (_,) = Path("runs").rglob("continued-*/checkpoint")


def test_bad_midi_files_are_left_out_counted_and_listed_or_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, piece in enumerate(sample_music(train=12)["train"]["notes"][:]):
        write_midi(piece, tmp_path / "songs" / f"{number:02}.mid", Grid())
    whole = Path("songs/00.mid").read_bytes()
    Path("songs/cut.mid").write_bytes(whole[:-9])
    Path("songs/text.mid").write_text("no music")
    command = ["train", "polyphonic-music", "--data", "songs", "--tiny"]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "songs/cut.mid is no whole MIDI file (" in line
    assert line.endswith("copy or export it again, or leave it out (or set --skip_bad)")

    assert main([*command, "--skip_bad"]) == 0
    said = capsys.readouterr()
    assert "songs: 12 pieces:" in said.out
    assert "note: --skip_bad left out 2 of the data:\n    songs/cut.mid is no whole MIDI file (" in said.out
    assert said.out.index("left out 2") < said.out.index("training "), "before hours are spent"
    (file,) = Path("runs/results").rglob("bibeta5-*.json")
    assert json.loads(file.read_text())["reading"] == {LEFT_OUT: 2}

    (checkpoint,) = Path("runs").rglob("checkpoint")
    score = ["evaluate", str(checkpoint), "--dataset", "songs", "--split", "train", "--output", "scores.json"]
    assert main(score) == 2
    capsys.readouterr()
    assert main([*score, "--skip_bad"]) == 0
    assert "note: --skip_bad left out 2 of the data:" in capsys.readouterr().err
    reading = json.loads(Path("scores.json").read_text())["reading"]
    assert reading["counts"] == {LEFT_OUT: 2}
    assert sorted(reading["left_out"]) == ["cut.mid", "text.mid"]

    continued = ["predict", str(checkpoint), "--file", "songs/cut.mid", "--output", "more.mid", "--skip_bad"]
    assert main(continued) == 2, "the only file is not left out"
    assert "songs/cut.mid is no whole MIDI file" in capsys.readouterr().err


def test_counts_stand_beside_a_users_pieces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece holds one of two chords: what sounded before tells which, how often a key sounds does not."""
    monkeypatch.chdir(tmp_path)
    pieces = [{"notes": [[40 + number % 2, 60 + number % 2]] * (8 + number)} for number in range(10)]
    Path("held.jsonl").write_text("\n".join(map(json.dumps, pieces)))
    command = ["train", "polyphonic-music", "--data", "held.jsonl", "--tiny"]
    lines = ["a count of each key has ", "a count of each key by the step before has "]
    said = check_baselines(command, lines, ["key_frequency", "key_markov"], capsys)
    frequency, markov = (result_of(name).metrics for name in ("key_frequency", "key_markov"))
    assert markov["test/nll"] < frequency["test/nll"]
    assert markov["test/frame_accuracy"] > 90 > frequency["test/frame_accuracy"]
    assert (
        f"{markov['test/nll']:.2f} negative log-likelihood of a step (nats) and {markov['test/frame_accuracy']:.2f} "
        "frame accuracy on test (how often it sounds in train behind a step with it, and behind one without it); this "
        "model's"
    ) in said
    assert said.count("; lower is better") == 2
    assert f"; lower is better; {lines[1].removesuffix(' has ')} is better here\n" in said  # than a tiny model
