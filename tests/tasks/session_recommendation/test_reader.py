from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet
import pytest

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import reading_notes
from ctxzoo.data.sources import DatasetFileError
from ctxzoo.tasks.session_recommendation.reader import check_sessions, read_sessions


def sessions_of(path: Path, **columns: str) -> dict[str, list[str]]:
    rows = read_sessions(str(path), columns=EventColumns(**columns)).splits["train"]
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


def test_a_file_of_whole_sessions(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"items": [[4, 4], [1]]}), tmp_path / "a.parquet")
    assert sessions_of(tmp_path / "a.parquet") == {"0": ["4", "4"], "1": ["1"]}


def with_names(folder: Path, sessions: list[list[int]]) -> str:
    folder.mkdir()
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: sessions\n  default: true\n  data_files:\n  - split: train\n"
        "    path: train.parquet\n- config_name: items\n  data_files:\n  - split: train\n    path: items.parquet\n---\n"
    )
    rows = {"user": [f"user {row}" for row in range(len(sessions))], "items": sessions}
    datasets.Dataset.from_dict(rows).to_parquet(folder / "train.parquet")
    names = {"item_id": [1, 2, 3], "title": ["Emma", "Persuasion", "Emma"]}
    datasets.Dataset.from_dict(names).to_parquet(folder / "items.parquet")
    return str(folder)


def test_a_table_of_items_names_them(tmp_path: Path) -> None:
    assert read_sessions(with_names(tmp_path / "known", [[1, 3, 2]])).splits["train"].to_dict() == {
        "session_id": ["user 0"],
        "items": [["Emma [1]", "Emma [3]", "Persuasion"]],
    }
    with pytest.raises(TextFormatError, match="split 'train', row 1: item 9 is not in the table of items"):
        read_sessions(with_names(tmp_path / "unknown", [[1], [2, 9]]))
    folder = with_names(tmp_path / "twice", [[1, 3]])
    names = {"item_id": [1, 3, 1], "title": ["Emma", "Persuasion", "Lady Susan"]}
    datasets.Dataset.from_dict(names).to_parquet(Path(folder) / "items.parquet")
    with pytest.raises(TextFormatError, match="configuration 'items': item_id 1 stands there twice"):
        read_sessions(folder)


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
        read_sessions(str(written(tmp_path / "a.csv", text)))


@pytest.mark.parametrize("odd", ["1711929600", "2024-01-31T18:05:00Z", "1e3"])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_time_of_another_kind_than_most_is_left_out_wherever_it_stands(tmp_path: Path, odd: str, place: int) -> None:
    rows = ["1,a,2024-01-31 18:05", "1,b,2024-02-01", "1,c,2024-02-02T00:00"]
    whole = read_sessions(str(written(tmp_path / "whole.csv", "\n".join(["user,item,time", *rows])))).splits["train"]
    rows.insert(place, f"1,x,{odd}")
    path = written(tmp_path / "a.csv", "\n".join(["user,item,time", *rows]))
    with pytest.raises(TextFormatError, match=rf"row {place}: the time is '{odd}', a .*; most are dates and times"):
        read_sessions(str(path))
    with reading_notes(skip_bad=True) as notes:
        assert read_sessions(str(path)).splits["train"].to_list() == whole.to_list()
    assert [where.rsplit(", ", 1)[1] for where in notes.left_out] == [f"row {place}"]


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=r"a\.json is no \.csv, \.tsv, \.jsonl, \.parquet file"):
        read_sessions(str(written(tmp_path / "a.json", "{}")))
    with pytest.raises(DatasetFileError, match=r"b\.csv"):
        read_sessions(str(written(tmp_path / "b.csv", "a,b\n1,2\n1,2,3\n")))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": [["a"]]}, "no column 'items'"),
        ({"items": [[1.5]]}, r"type list.*expected in each row a list of names or ids"),
        ({"items": [["a"], []]}, "row 1: the session has no item"),
        ({"items": [["a"], ["b", None]]}, "row 1: an item without a name"),
        ({"items": [["a", ""]]}, "row 0: an item without a name"),
        ({"items": []}, "no rows"),
    ],
)
def test_sessions_that_cannot_be(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        check_sessions({"train": datasets.Dataset.from_dict(columns)})
