from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.sources import DatasetUnavailableError
from ctxzoo.tasks.polyphonic_music.midi import Grid, write_midi
from ctxzoo.tasks.polyphonic_music.reader import check_music, read_music
from ctxzoo.tasks.polyphonic_music.rolls import Rolls, notes_of_roll, roll_of_notes

PIECE = [[3, 40], [], [87]]


def rows(*pieces: Any, **columns: Any) -> dict[str, datasets.Dataset]:
    return {"train": datasets.Dataset.from_dict({"notes": list(pieces), **columns})}


def test_columns_get_the_one_form():
    checked = check_music(rows(PIECE, [[0]], piece_id=[7, 8], num_steps=[3, 1], key=["C", "D"]))
    split = checked.splits["train"]
    assert split.column_names == ["piece_id", "notes"]
    assert split["piece_id"][:] == ["7", "8"]
    assert split["notes"][:] == [PIECE, [[0]]]
    assert check_music(rows(PIECE)).splits["train"]["piece_id"][:] == ["0"]


def test_the_fingerprint_is_of_the_keys_and_not_of_their_type():
    nested = datasets.List(datasets.List(datasets.Value("uint8")))
    narrow = datasets.Dataset.from_dict({"notes": [PIECE]}, features=datasets.Features({"notes": nested}))
    assert check_music({"train": narrow}).fingerprint == check_music(rows(PIECE)).fingerprint
    assert check_music(rows([[3, 41], [], [87]])).fingerprint != check_music(rows(PIECE)).fingerprint


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([PIECE, [[3], [88]]], r"row 1, step 1: key 88; expected keys of 0\.\.87"),
        ([PIECE, [], [[-1]]], r"row 1: the piece has no step"),
        ([PIECE, [[3]], [[], [-1]]], r"row 2, step 1: key -1; expected keys of 0\.\.87"),
        ([[[5, 3]]], "row 0, step 0: key 3 stands behind 5; expected each key once, in ascending order"),
        ([PIECE, [[1], [2, 2]]], "row 1, step 1: key 2 stands there twice"),
        ([PIECE, None], "row 1: nothing in 'notes'"),
        ([PIECE, [[1], None]], "row 1, step 1: nothing; expected a list of keys"),
        ([PIECE, [[1], [2, None]]], r"row 1, step 1: nothing; expected keys of 0\.\.87"),
        ([[1, 2]], "has the type list<.*int64>; expected for each step a list of keys"),
        ([[[1.5]]], "has the type list<.*double>.*expected for each step a list of keys"),
        (["C major"], "has the type string; expected for each step"),
    ],
)
def test_a_piece_that_is_not_as_it_should_be_is_named(pieces: list[Any], message: str) -> None:
    with pytest.raises(TextFormatError, match=f"dataset 'x', split 'train'.*{message}"):
        check_music(rows(*pieces), origin="dataset 'x'")


def test_a_last_key_may_be_above_the_next_steps_first():
    assert check_music(rows([[86, 87], [0, 1]])).splits["train"]["notes"][0] == [[86, 87], [0, 1]]


def test_silence_is_music_too():
    assert check_music(rows([[], []])).splits["train"]["notes"][:] == [[[], []]]


def test_a_wrong_number_of_steps_is_named():
    with pytest.raises(TextFormatError, match="row 1: 2 in 'num_steps', but 'notes' has 3 steps"):
        check_music(rows([[1]], PIECE, num_steps=[1, 2]))


def test_no_notes_and_no_rows():
    with pytest.raises(TextFormatError, match=r"no column 'notes'; there are \['text'\]"):
        check_music({"train": datasets.Dataset.from_dict({"text": ["a"]})})
    with pytest.raises(TextFormatError, match="no rows; expected at least one piece"):
        check_music(rows())


def test_files_of_rows(tmp_path: Path) -> None:
    file = tmp_path / "music.jsonl"
    file.write_text(json.dumps({"notes": PIECE}) + "\n\n" + json.dumps({"notes": [[1], [2]]}) + "\n")
    lines = read_music(str(file))
    assert lines.splits["train"]["notes"][:] == [PIECE, [[1], [2]]]
    lines.splits["train"].to_parquet(tmp_path / "music.parquet")
    assert read_music(str(tmp_path / "music.parquet")).fingerprint == lines.fingerprint
    file.write_text("{}\n{")
    with pytest.raises(DatasetFileError, match=r"music\.jsonl, line 2 is not JSON"):
        read_music(str(file))
    (tmp_path / "music.parquet").write_bytes(b"no")
    with pytest.raises(DatasetFileError, match=r"music\.parquet cannot be read"):
        read_music(str(tmp_path / "music.parquet"))
    (tmp_path / "music.xml").write_text("<a/>")
    with pytest.raises(DatasetFileError, match=r"music\.xml is no \.mid, \.midi, \.jsonl, \.parquet file"):
        read_music(str(tmp_path / "music.xml"))
    with pytest.raises(DatasetUnavailableError, match=r"no file or folder .*none\.jsonl"):
        read_music(str(tmp_path / "none.jsonl"))


def test_midi_files_and_folders(tmp_path: Path) -> None:
    grid = Grid(steps_per_beat=1)
    for name in ("one.mid", "inner/two.MID"):
        write_midi(PIECE, tmp_path / "flat" / name, grid)
    flat = read_music(str(tmp_path / "flat"), grid=grid).splits
    assert flat["train"].to_dict() == {"piece_id": ["inner/two.MID", "one.mid"], "notes": [PIECE, PIECE]}
    assert read_music(str(tmp_path / "flat" / "one.mid"), grid=grid).splits["train"]["notes"][:] == [PIECE]
    halves = read_music(str(tmp_path / "flat" / "one.mid")).splits["train"]["notes"][0]
    assert halves == [step for step in PIECE for _ in range(2)]
    for name in ("train/a.mid", "train/b.mid", "test/c.mid"):
        write_midi(PIECE, tmp_path / "split" / name, grid)
    split = read_music(str(tmp_path / "split"), grid=grid).splits
    assert {name: len(one) for name, one in split.items()} == {"train": 2, "test": 1}
    write_midi(PIECE, tmp_path / "split" / "d.mid", grid)
    with pytest.raises(DatasetFileError, match=r"split: d\.mid is in none of train, test; move it"):
        read_music(str(tmp_path / "split"))


def test_a_configuration_of_data_without_any_is_refused():
    with pytest.raises(ValueError, match="config_name='nottingham', but 'sample' has no configurations"):
        read_music("sample", config_name="nottingham")


def test_splits_of_another_name_are_refused(tmp_path: Path) -> None:
    rows([[1]])["train"].to_parquet(tmp_path / "dev-other.parquet")
    datasets.Dataset.from_dict({"notes": [[[1]]]}).to_parquet(tmp_path / "holdout.parquet")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: holdout\n    path: holdout.parquet\n---\n"
    )
    with pytest.raises(TextFormatError, match=r"has the splits \['holdout'\]; expected one of"):
        read_music(str(tmp_path))


def test_rolls_are_the_pieces():
    pieces = [PIECE, [[0]], [[], [1, 2, 3]]]
    rolls = Rolls.from_split(check_music(rows(*pieces)).splits["train"].select([2, 0, 1]))
    assert len(rolls) == 3
    assert rolls.lengths().tolist() == [2, 3, 1]
    assert [notes_of_roll(rolls.roll(piece)) for piece in range(3)] == [pieces[2], pieces[0], pieces[1]]
    assert (rolls.roll(1) == roll_of_notes(PIECE)).all()
