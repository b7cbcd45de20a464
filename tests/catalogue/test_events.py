from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.events import read_badges
from ctxzoo.catalogue.order import SPLIT_SEED

NAMES = "id, badge\n10, Necromancer\n2, Good Answer\n1, Nice Question\n"


def written(folder: Path, folds: dict[int, tuple[str, str]], names: str = NAMES) -> dict[str, Path]:
    files = {"badges.csv": names}
    for fold in range(1, 6):
        files[f"event-{fold}-test.txt"], files[f"time-{fold}-test.txt"] = folds.get(fold, ("", ""))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in files}


def test_users_of_all_folds_are_there_once_and_divided(tmp_path: Path) -> None:
    users = [(f"1 {2 if number % 2 else 10} ", f"{100 + number}.5 {200 + number}.013 ") for number in range(20)]
    folds = {}
    for fold, some in {1: users[12:], 2: users[5:14], 4: users[:6]}.items():
        folds[fold] = ("".join(f"{one}\n" for one, _ in some), "".join(f"{one}\n" for _, one in some))
    splits = read_badges(written(tmp_path, folds))
    drawn = np.random.default_rng(SPLIT_SEED).permutation(20)
    for split, part in (("train", drawn[:16]), ("validation", drawn[16:18]), ("test", drawn[18:])):
        rows = splits[f"sequences/{split}"]
        numbers = sorted(part.tolist())
        assert rows["sequence_id"] == numbers
        assert rows["events"] == [[1, 2 if number % 2 else 10] for number in numbers]
        assert rows["timestamps"] == [[100.5 + number, 200.013 + number] for number in numbers]
    assert splits["events/train"] == {"event_id": [1, 2, 10], "badge": ["Nice Question", "Good Answer", "Necromancer"]}


def test_users_who_begin_at_one_time_stand_in_the_order_of_their_events_as_numbers(tmp_path: Path) -> None:
    folds = {3: ("10 1\n2 2\n1 1\n2 1\n2 1\n", "5 6\n5 9\n7 8\n5 9\n5 8\n")}
    splits = read_badges(written(tmp_path, folds))
    found: dict[int, tuple[list[int], list[float]]] = {}
    for split in ("train", "validation", "test"):
        rows = splits[f"sequences/{split}"]
        if rows:
            found |= dict(zip(rows["sequence_id"], zip(rows["events"], rows["timestamps"], strict=True), strict=True))
    assert [found[number] for number in range(5)] == [
        ([2, 1], [5.0, 8.0]),
        ([2, 1], [5.0, 9.0]),
        ([2, 2], [5.0, 9.0]),
        ([10, 1], [5.0, 6.0]),
        ([1, 1], [7.0, 8.0]),
    ]


@pytest.mark.parametrize(
    ("events", "times", "message"),
    [
        ("1\n2\n", "5\n", r"event-1-test\.txt has 2 lines, time-1-test\.txt 1; expected as many"),
        ("1\n1 2\n", "5\n5\n", r"event-1-test\.txt, line 2: 2 events at 1 times"),
        ("\n", "\n", r"event-1-test\.txt, line 1: 0 events at 0 times; expected as many, at least 1"),
        ("1 3\n", "5 6\n", r"event-1-test\.txt, line 1: the event 3, which badges\.csv does not name"),
        ("1 2.5\n", "5 6\n", r"event-1-test\.txt, line 1: .*'2\.5'; expected numbers with blanks between"),
        ("1 2\n", "5,6\n", r"time-1-test\.txt, line 1: .*'5,6'; expected numbers"),
    ],
)
def test_folds_that_are_not_in_the_form_of_the_source_are_named(
    tmp_path: Path, events: str, times: str, message: str
) -> None:
    with pytest.raises(RawFileError, match=message):
        read_badges(written(tmp_path, {1: (events, times)}))


def test_a_table_of_badges_that_is_not_in_the_form_of_the_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(RawFileError, match=r"badges\.csv begins with \['1, Guru'\]; expected 'id, badge'"):
        read_badges(written(tmp_path, {}, "1, Guru\n"))
    with pytest.raises(RawFileError, match=r"badges\.csv, line 3: 'Guru'; expected a number, a comma and a name"):
        read_badges(written(tmp_path, {}, "id, badge\n1, Guru\nGuru\n"))
