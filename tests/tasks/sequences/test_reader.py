"""Sequences from files of events and datasets, and what is refused; tests/tasks/test_event_files.py has more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet
import pytest

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, EventColumns, SequenceKind
from ctxzoo.tasks.sequences.reader import check_sequences, read_sequences

each_kind = pytest.mark.parametrize("kind", [SESSIONS, HISTORIES], ids=lambda kind: kind.several)


def sessions_of(path: Path, **columns: str) -> dict[str, list[str]]:
    rows = read_sequences(SESSIONS, str(path), columns=EventColumns(**columns)).splits["train"]
    return dict(zip(rows["session_id"], rows["items"], strict=True))


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_events_become_the_sessions_of_users_in_the_order_of_time(tmp_path: Path) -> None:
    expected = {"7": ["b", "c", "a"], "9": ["a", "a"]}
    text = "user,item,time\n7,a,30\n9,a,1\n7,b,10\n9,a,2\n7,c,10\n"  # b before c: the order of the file
    assert sessions_of(written(tmp_path / "a.csv", text)) == expected
    assert sessions_of(written(tmp_path / "a.tsv", text.replace(",", "\t"))) == expected
    leading = "user,item,time\n007,01,1\n007,1,2\n"  # names, not numbers
    assert sessions_of(written(tmp_path / "e.csv", leading)) == {"007": ["01", "1"]}
    named = text.replace("user,item,time", "who,what,when")
    assert sessions_of(written(tmp_path / "b.csv", named), user="who", item="what", time="when") == expected
    dates = "user,item,time\n7,a,2024-03-01 10:00:00\n7,b,2024-02-01 10:00:00\n7,c,2024-02-01 11:00:00\n"
    assert sessions_of(written(tmp_path / "c.csv", dates)) == {"7": ["b", "c", "a"]}
    table = pa.table({"user": ["u", "u"], "item": [5, 3], "time": [2.5, 1.5]})
    pa.parquet.write_table(table, tmp_path / "d.parquet")
    assert sessions_of(tmp_path / "d.parquet") == {"u": ["3", "5"]}


def test_histories_have_the_times_of_their_events(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "who,what,when\nb,x,3\na,y,2\nb,z,1.5\nb,z,3\n")
    rows = read_sequences(HISTORIES, str(path), columns=EventColumns("who", "what", "when")).splits["train"]
    assert rows["history_id"][:] == ["b", "a"]
    assert rows["events"][:] == [["z", "x", "z"], ["y"]]  # equal times stay in the order of the file
    assert rows["timestamps"][:] == [[1.5, 3.0, 3.0], [2.0]]
    dates = written(tmp_path / "b.csv", "user,item,time\n1,x,1970-01-02 00:00:00\n1,y,1970-01-02 00:00:30\n")
    assert read_sequences(HISTORIES, str(dates)).splits["train"]["timestamps"][:] == [[86400.0, 86430.0]]


def test_a_file_of_whole_sessions(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"items": [[4, 4], [1]]}), tmp_path / "a.parquet")
    assert sessions_of(tmp_path / "a.parquet") == {"0": ["4", "4"], "1": ["1"]}


def with_names(folder: Path, rows: dict[str, Any], table: str, names: dict[str, Any]) -> str:
    folder.mkdir()
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: rows\n  default: true\n  data_files:\n  - split: train\n"
        f"    path: train.parquet\n- config_name: {table}\n  data_files:\n  - split: train\n"
        f"    path: {table}.parquet\n---\n"
    )
    datasets.Dataset.from_dict(rows).to_parquet(folder / "train.parquet")
    datasets.Dataset.from_dict(names).to_parquet(folder / f"{table}.parquet")
    return str(folder)


def test_a_table_of_items_names_them(tmp_path: Path) -> None:
    def folder(name: str, items: list[list[int]], ids: list[int], titles: list[str]) -> str:
        rows = {"user": [f"user {row}" for row in range(len(items))], "items": items}
        return with_names(tmp_path / name, rows, "items", {"item_id": ids, "title": titles})

    known = folder("known", [[1, 3, 2]], [1, 2, 3], ["Emma", "Persuasion", "Emma"])
    assert read_sequences(SESSIONS, known).splits["train"].to_dict() == {
        "session_id": ["user 0"],
        "items": [["Emma [1]", "Emma [3]", "Persuasion"]],
    }
    unknown = folder("unknown", [[1], [2, 9]], [1, 2, 3], ["Emma", "Persuasion", "Emma"])
    with pytest.raises(TextFormatError, match=r"^split 'train', row 1: item 9 is not in the table of items"):
        read_sequences(SESSIONS, unknown)
    twice = folder("twice", [[1, 3]], [1, 3, 1], ["Emma", "Persuasion", "Lady Susan"])
    with pytest.raises(TextFormatError, match="configuration 'items': item_id 1 stands there twice"):
        read_sequences(SESSIONS, twice)


def test_a_table_of_events_names_them(tmp_path: Path) -> None:
    rows = {"sequence_id": [7], "events": [[2, 1]], "timestamps": [[1.0, 2.0]]}
    folder = with_names(tmp_path / "known", rows, "events", {"event_id": [1, 2], "badge": ["Guru", "Nice"]})
    found = read_sequences(HISTORIES, folder).splits["train"]
    assert (found["history_id"][0], found["events"][0]) == ("7", ["Nice", "Guru"])
    folder = with_names(tmp_path / "unknown", rows, "events", {"event_id": [1, 3], "badge": ["Guru", "Nice"]})
    with pytest.raises(TextFormatError, match=r"^dataset '.*', split 'train', row 0: item 2 is not in the table of ev"):
        read_sequences(HISTORIES, folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,thing,time\n1,a,2\n", r"a\.csv: no column 'item'; there are \['user', 'thing', 'time'\]"),
        ("who,thing,time\n1,a,2\n", r"no column 'user' and no 'item'; there are"),
        ("user,item,time\n1,a,\n1,b,3\n", r"a\.csv, row 0: nothing in 'time'"),
        ("user,item,time\n,4,1\n", "row 0: nothing in 'user'"),
        ("user,item,time\n1,a,soon\n", "row 0: the time is 'soon'; expected numbers, such as seconds, or dates"),
        ("user,item,time\n1,a,true\n1,b,2024-01-31\n", "row 0: the time is 'true'; expected numbers"),
        ("user,item,time\n1,a,1\n1,a,nan\n", "row 1: nothing in 'time'"),
        (
            "user,item,time\n1,a,1\n1,b,2024-01-31\n",
            "row 1: the time is '2024-01-31', a date; most are numbers: write it as they are or leave the row out",
        ),
        ("user,item,time\n", "no rows; expected at least one event"),
    ],
)
def test_events_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        read_sequences(SESSIONS, str(written(tmp_path / "a.csv", text)))


@pytest.mark.parametrize("odd", ["1711929600", "2024-01-31T18:05:00Z", "1e3"])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_time_of_another_kind_than_most_is_left_out_wherever_it_stands(tmp_path: Path, odd: str, place: int) -> None:
    rows = ["1,a,2024-01-31 18:05", "1,b,2024-02-01", "1,c,2024-02-02T00:00"]
    whole = read_sequences(SESSIONS, str(written(tmp_path / "whole.csv", "\n".join(["user,item,time", *rows])))).splits[
        "train"
    ]
    rows.insert(place, f"1,x,{odd}")
    path = written(tmp_path / "a.csv", "\n".join(["user,item,time", *rows]))
    with pytest.raises(TextFormatError, match=rf"row {place}: the time is '{odd}', a .*; most are dates and times"):
        read_sequences(SESSIONS, str(path))
    with collect_reading_notes(skip_bad=True) as notes:
        assert read_sequences(SESSIONS, str(path)).splits["train"].to_list() == whole.to_list()
    assert [where.rsplit(", ", 1)[1] for where in notes.left_out] == [f"row {place}"]


@each_kind
def test_files_that_cannot_be(kind: SequenceKind, tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=r"a\.json is no \.csv, \.tsv, \.jsonl, \.parquet file"):
        read_sequences(kind, str(written(tmp_path / "a.json", "{}")))
    with pytest.raises(DatasetFileError, match=r"b\.csv"):
        read_sequences(kind, str(written(tmp_path / "b.csv", "a,b\n1,2\n1,2,3\n")))
    with pytest.raises(TextFormatError, match="row 0: the time is 'soon'"):
        read_sequences(kind, str(written(tmp_path / "c.csv", "user,item,time\n1,x,soon\n")))


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        (SESSIONS, {"item": [["a"]]}, "no column 'items'"),
        (SESSIONS, {"items": [[1.5]]}, r"type list.*expected in each row a list of names or ids"),
        (SESSIONS, {"items": [["a"], []]}, "row 1: the session has no item"),
        (SESSIONS, {"items": [["a"], ["b", None]]}, "row 1: an item without a name"),
        (SESSIONS, {"items": [["a", ""]]}, "row 0: an item without a name"),
        (SESSIONS, {"items": []}, "no rows; expected at least one session"),
        (HISTORIES, {"events": []}, "no rows; expected at least one history"),
        (
            HISTORIES,
            {"events": [["a", "b"]], "timestamps": [[2.0, 1.0]]},
            "row 0: the timestamp 1 stands behind 2; sort",
        ),
        (HISTORIES, {"events": [["a"], ["a", "b"]], "timestamps": [[1.0], [1.0]]}, "row 1: 1 timestamp of 2 events"),
        (
            HISTORIES,
            {"events": [["a"], ["a"]], "timestamps": [[1.0], [float("nan")]]},
            "row 1: a timestamp that is no n",
        ),
        (HISTORIES, {"events": [["a"]], "timestamps": [["x"]]}, "timestamps begins with 'x', which is no time"),
        (HISTORIES, {"events": [["a"]], "timestamps": ["1"]}, "expected in each row a list of numbers or dates"),
        (HISTORIES, {"events": [["a"]]}, "no column 'timestamps'"),
        (HISTORIES, {"events": [["a"], []], "timestamps": [[1.0], []]}, "row 1: the session has no item"),
        (HISTORIES, {"timestamps": [[1.0]]}, "no column 'events'"),
    ],
)
def test_rows_that_cannot_be(kind: SequenceKind, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        check_sequences(kind, {"train": datasets.Dataset.from_dict(columns)})


def test_times_may_fall_from_one_history_to_the_next() -> None:
    rows = datasets.Dataset.from_dict({"events": [["a", "b"], ["a"]], "timestamps": [[5, 6], [1]]})
    assert len(check_sequences(HISTORIES, {"train": rows}).splits["train"]) == 2
