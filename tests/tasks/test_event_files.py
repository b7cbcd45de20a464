"""Files of events in every form that the two problems of events read: the same rows, and the same for each command.

The oracle is the list of rows from which the files are written; ids have zeros in front, times are numbers or dates.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.cli.main import main
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, EventColumns
from ctxzoo.tasks.sequences.reader import convert_to_seconds, read_sequences
from tests.tasks.test_unknown_targets import PROBLEMS

Row = tuple[str, str, int]  # user, item, seconds since 1970
HEADER = ("user", "item", "time")
BEGIN = 1_700_000_000


def rows_of(seed: int, users: int = 6) -> list[Row]:
    """Return events in another order than that of time; ids are numbers, some with zeros in front."""
    draws = random.Random(seed)
    rows = [(f"{u:03}", str(draws.randrange(1, 31)), BEGIN + 60 * n) for u in range(users) for n in range(4)]
    draws.shuffle(rows)
    return rows


def expected(rows: list[Row]) -> dict[str, tuple[list[str], list[float]]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    ordered = {user: sorted(events, key=lambda row: row[2]) for user, events in found.items()}
    return {user: ([row[1] for row in of], [float(row[2]) for row in of]) for user, of in ordered.items()}


def read(path: str | Path, **columns: str) -> dict[str, tuple[list[str], list[float]]]:
    chosen = EventColumns(**columns)
    events = read_sequences(HISTORIES, str(path), columns=chosen).splits["train"]
    sessions = read_sequences(SESSIONS, str(path), columns=chosen).splits["train"]
    assert (sessions["session_id"][:], sessions["items"][:]) == (events["history_id"][:], events["events"][:])
    return dict(zip(events["history_id"], zip(events["events"][:], events["timestamps"][:], strict=True), strict=True))


def date(seconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)


def delimited(
    rows: list[Row], separator: str, time: Callable[[int], Any] = int, end: str = "\n", quote: str = ""
) -> str:
    lines = [HEADER, *((user, item, str(time(at))) for user, item, at in rows)]
    return "".join(separator.join(f"{quote}{cell}{quote}" for cell in line) + end for line in lines)


def objects(rows: list[Row], time: Callable[[int], Any] = int) -> str:
    return "".join(json.dumps({"user": u, "item": i, "time": time(at)}) + "\n" for u, i, at in rows)


FORMS: dict[str, Callable[[list[Row]], bytes]] = {
    "a.csv": lambda rows: delimited(rows, ",").encode(),
    "crlf.csv": lambda rows: delimited(rows, ",", end="\r\n").encode(),
    "bom.csv": lambda rows: delimited(rows, ",").encode("utf-8-sig"),
    "quotes.csv": lambda rows: delimited(rows, ",", quote='"').encode(),
    "dates.csv": lambda rows: delimited(rows, ",", date).encode(),
    "zone.csv": lambda rows: delimited(rows, ",", lambda at: f"{date(at).isoformat()}Z").encode(),
    "blank_lines.csv": lambda rows: delimited(rows, ",", end="\n\n").encode(),
    "a.tsv": lambda rows: delimited(rows, "\t").encode(),
    "trailing.tsv": lambda rows: delimited(rows, "\t", end="\t\n").encode(),
    "trailing_rows.tsv": lambda rows: delimited(rows, "\t").replace("\n", "\t\n").replace("time\t", "time", 1).encode(),
    "a.csv.gz": lambda rows: gzip.compress(delimited(rows, ",").encode()),
    "a.jsonl": lambda rows: objects(rows).encode(),
    "dates.jsonl": lambda rows: objects(rows, lambda at: str(date(at))).encode(),
    "a.jsonl.gz": lambda rows: gzip.compress(objects(rows).encode()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_holds_the_same_events(name: str, tmp_path: Path) -> None:
    rows = rows_of(0)
    (tmp_path / name).write_bytes(FORMS[name](rows))
    assert read(tmp_path / name) == expected(rows)


def test_parquet_numbers_and_folders(tmp_path: Path) -> None:
    rows = rows_of(1)
    users, items, times = zip(*rows, strict=True)
    for number, (item, time) in enumerate(
        (
            (pa.array(items), pa.array(times)),
            (pa.array(map(int, items)), pa.array(map(date, times))),
            (pa.array(map(float, items)), pa.array(map(float, times))),
            (pa.array(items).dictionary_encode(), pa.array([str(date(at)) for at in times])),
        )
    ):
        file = tmp_path / f"{number}.parquet"
        pa.parquet.write_table(pa.table({"user": users, "item": item, "time": time}), file)
        assert read(file) == expected(rows)
    numbers = "".join(json.dumps({"user": u, "item": int(i), "time": at}) + "\n" for u, i, at in rows)
    (tmp_path / "numbers.jsonl").write_text(numbers)
    assert read(tmp_path / "numbers.jsonl") == expected(rows)
    for name, content in (("csv", delimited(rows, ",")), ("jsonl", objects(rows))):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"train.{name}").write_text(content)
        assert read(tmp_path / name) == expected(rows)


def test_whole_histories_in_a_file(tmp_path: Path) -> None:
    whole = expected(rows_of(2))
    lines = [{"user": user, "items": items, "timestamps": times} for user, (items, times) in whole.items()]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read(tmp_path / "a.jsonl") == whole
    for line in lines:
        line["timestamps"] = [str(date(int(at))) for at in line["timestamps"]]
    (tmp_path / "dates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read(tmp_path / "dates.jsonl") == whole
    mixed = [{"user": "a", "items": [7, "007"], "timestamps": [1, 2]}]
    (tmp_path / "mixed.jsonl").write_text(json.dumps(mixed[0]) + "\n")
    assert read(tmp_path / "mixed.jsonl") == {"a": (["7", "007"], [1.0, 2.0])}


def test_without_a_header(tmp_path: Path) -> None:
    rows = rows_of(3)
    (tmp_path / "a.csv").write_text(delimited(rows, ",").split("\n", 1)[1])
    with pytest.raises(ValueError, match="no_header"):
        read(tmp_path / "a.csv")
    with collect_reading_notes(no_header=True):
        assert read(tmp_path / "a.csv") == expected(rows)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\n", exclude_categories=("Zs", "Cc")), min_size=1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT, st.integers(-(2**40), 2**40)), min_size=1, max_size=12))
def test_any_names_come_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    """The oracle is the standard library's writer of CSV, and JSON."""
    folder = tmp_path_factory.mktemp("any")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    (folder / "a.jsonl").write_text(objects(rows), encoding="utf-8")
    assert read(folder / "a.csv") == read(folder / "a.jsonl") == expected(rows)


def test_bad_rows_are_named_or_left_out_and_counted(tmp_path: Path) -> None:
    rows = rows_of(4)
    bad = [("", "1", BEGIN), ("001", "", BEGIN), ("001", "2", ""), ("001", "3", "soon"), ("001", "4", "inf")]
    lines = delimited(rows, ",") + "".join(f"{user},{item},{at}\n" for user, item, at in bad)
    (tmp_path / "a.csv").write_text(lines)
    with pytest.raises(TextFormatError, match=r"row 24: nothing in 'user'"):
        read(tmp_path / "a.csv")
    with collect_reading_notes(skip_bad=True) as notes:
        assert read(tmp_path / "a.csv") == expected(rows)
    assert notes.counts()["left out as bad"] == len(bad)
    assert len(rows) + len(notes.left_out) == lines.count("\n") - 1


def test_events_at_one_time_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item,time\na,x,1\na,y,1\nb,x,1\na,z,1\nb,y,2\n")
    with collect_reading_notes() as notes:
        assert read(tmp_path / "a.csv")["a"] == (["x", "y", "z"], [1.0, 1.0, 1.0])
    assert [number for (_, what), number in notes.noted.items() if "in the order of the file" in what] == [2]


def test_times_are_read_in_every_form() -> None:
    at = datetime.datetime(2024, 1, 31, 18, 5)
    number = at.replace(tzinfo=datetime.timezone.utc).timestamp()
    for times in ([at], [np.datetime64(at)], [str(at)], ["2024-01-31T18:05:00Z"], np.array([at], "datetime64[ns]")):
        assert convert_to_seconds(times) == [number]
    assert convert_to_seconds([datetime.date(1970, 1, 2), datetime.date(1970, 1, 1)]) == [86400.0, 0.0]
    assert (
        convert_to_seconds(["5", "1e3"])
        == convert_to_seconds([5, 1000.0])
        == convert_to_seconds(np.array([5, 1000]))
        == [5.0, 1000.0]
    )
    for odd in ([], ["soon"], [None], [float("nan")], ["5", "2024-01-31"], [""]):
        with pytest.raises(TextFormatError, match="timestamps"):
            convert_to_seconds(odd)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_evaluate_and_predict_read_them_alike(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PROBLEMS[problem][0]().save_pretrained(tmp_path / "model")
    rows, scores, answers = rows_of(5), [], []
    for name in ("a.csv", "dates.csv", "trailing.tsv", "a.csv.gz", "dates.jsonl"):
        (tmp_path / name).write_bytes(FORMS[name](rows))
        out = tmp_path / "out.json"
        file = str(tmp_path / name)
        evaluated = ["evaluate", str(tmp_path / "model"), "--dataset", file, "--split", "train", "--output", str(out)]
        assert main(evaluated) == 0
        scores.append(json.loads(out.read_text())["metrics"])
        assert main(["predict", str(tmp_path / "model"), "--file", file, "--output", str(out)]) == 0
        answers.append(json.loads(out.read_text()))
    assert all(one == scores[0] for one in scores)
    assert all(one == answers[0] for one in answers)
    assert len(answers[0]) == 6
