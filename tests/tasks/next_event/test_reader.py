"""Histories of events, read and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet
import pytest

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.sources import DatasetFileError
from ctxzoo.tasks.next_event.reader import check_histories, read_histories


def checked(**columns: Any) -> datasets.Dataset:
    return check_histories({"train": datasets.Dataset.from_dict(columns)}).splits["train"]


def test_events_of_a_file_are_put_in_order_by_user(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("who,what,when\nb,x,3\na,y,2\nb,z,1.5\nb,z,3\n")
    rows = read_histories(str(path), columns=EventColumns("who", "what", "when")).splits["train"]
    assert rows["history_id"][:] == ["b", "a"]
    assert rows["events"][:] == [["z", "x", "z"], ["y"]]  # equal times stay in the order of the file
    assert rows["timestamps"][:] == [[1.5, 3.0, 3.0], [2.0]]


def test_dates_become_seconds(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("user,item,time\n1,x,1970-01-02 00:00:00\n1,y,1970-01-02 00:00:30\n")
    assert read_histories(str(path)).splits["train"]["timestamps"][:] == [[86400.0, 86430.0]]


def test_ids_of_a_dataset_get_their_names(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "events").mkdir()
    rows = pa.table({"sequence_id": [7], "events": [[2, 1]], "timestamps": [[1.0, 2.0]]})
    pa.parquet.write_table(rows, tmp_path / "data" / "train.parquet")
    names = pa.table({"event_id": [1, 2], "badge": ["Guru", "Nice"]})
    pa.parquet.write_table(names, tmp_path / "events" / "train.parquet")
    configs = (
        "---\nconfigs:\n- config_name: rows\n  default: true\n  data_files:\n"
        "  - split: train\n    path: data/train.parquet\n"
        "- config_name: events\n  data_files:\n  - split: train\n    path: events/train.parquet\n---\n"
    )
    (tmp_path / "README.md").write_text(configs)
    found = read_histories(str(tmp_path)).splits["train"]
    assert (found["history_id"][0], found["events"][0]) == ("7", ["Nice", "Guru"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"events": [["a", "b"]], "timestamps": [[2.0, 1.0]]}, "row 0: the timestamp 1 stands behind 2; sort"),
        ({"events": [["a"], ["a", "b"]], "timestamps": [[1.0], [1.0]]}, "row 1: 1 timestamp of 2 events"),
        ({"events": [["a"], ["a"]], "timestamps": [[1.0], [float("nan")]]}, "row 1: a timestamp that is no number"),
        ({"events": [["a"]], "timestamps": [["x"]]}, "timestamps begins with 'x', which is no time"),
        ({"events": [["a"]], "timestamps": ["1"]}, "expected in each row a list of numbers or dates"),
        ({"events": [["a"]]}, "no column 'timestamps'"),
        ({"events": [["a"], []], "timestamps": [[1.0], []]}, "row 1: the session has no item"),
        ({"timestamps": [[1.0]]}, "no column 'events'"),
    ],
)
def test_what_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        checked(**columns)


def test_times_may_fall_from_one_history_to_the_next() -> None:
    assert len(checked(events=[["a", "b"], ["a"]], timestamps=[[5, 6], [1]])) == 2


def test_files_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text("{}")
    with pytest.raises(DatasetFileError, match=r"is no \.csv, \.tsv, \.jsonl, \.parquet file"):
        read_histories(str(path))
    path = tmp_path / "events.csv"
    path.write_text("user,item,time\n1,x,soon\n")
    with pytest.raises(TextFormatError, match="row 0: the time is 'soon'"):
        read_histories(str(path))
