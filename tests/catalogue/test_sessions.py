from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.order import SPLIT_SEED
from ctxzoo.catalogue.sessions import make_session_converter, read_movielens_100k

HEAD = "\tItemId\tTime\tSessionId\titem_idx\tsess_idx\n"


def written(folder: Path, **content: str) -> dict[str, Path]:
    files = {}
    for name, text in content.items():
        file = name.replace("__", ".")
        (folder / file).write_text(text, encoding="latin-1")
        files[file] = folder / file
    return files


def events(*sessions: tuple[int, list[int]]) -> str:
    lines = [
        f"0\tk{item}\t{100 + item}.0\tu{number}\t{item}\t{number}\n" for number, items in sessions for item in items
    ]
    return HEAD + "".join(lines)


def test_events_become_sessions_in_the_authors_splits(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        a_train__txt=events((1, [3, 2]), (0, [1, 3])),
        a_test__txt=events((2, [2])),
        a_item2idx__txt="x\t1\ny\t2\n",
    )
    convert = make_session_converter("a_", splits={"train": "train", "test": "test"}, divided=False)
    splits = convert(files)
    assert splits["sessions/train"] == {
        "session_id": [0, 1],
        "user": ["u0", "u1"],
        "items": [[1, 3], [3, 2]],
        "timestamps": [[101, 103], [103, 102]],
    }
    assert splits["sessions/test"]["items"] == [[2]]
    assert splits["items/train"] == {"item_id": [1, 2], "item_key": ["x", "y"]}


def test_a_part_is_divided_anew(tmp_path: Path) -> None:
    sessions = [(number, [number + 1]) for number in range(20)]
    files = written(
        tmp_path,
        a_valid__txt=events(*sessions[:7]),
        a_test__txt=events(*sessions[7:]),
        a_item2idx__txt="7\t1\n",
        a_item2genre__txt="7::Amélie (2001)::Comedy|Romance\n",
    )
    splits = make_session_converter("a_", splits={"valid": "validation", "test": "test"}, divided=True)(files)
    drawn = np.random.default_rng(SPLIT_SEED).permutation(20)
    for split, part in (("train", drawn[:16]), ("validation", drawn[16:18]), ("test", drawn[18:])):
        assert splits[f"sessions/{split}"]["session_id"] == sorted(part.tolist())
    where = dict(zip(splits["sessions/train"]["session_id"], splits["sessions/train"]["authors_split"], strict=True))
    assert all(name == ("valid" if number < 7 else "test") for number, name in where.items())
    assert splits["items/train"]["title"] == ["Amélie (2001)"]
    assert splits["items/train"]["genres"] == [["Comedy", "Romance"]]


def test_ratings_stand_in_the_order_of_time_and_then_of_films(tmp_path: Path) -> None:
    ratings = "".join(
        f"{user}\t{film}\t3\t{time}\n" for user in range(1, 11) for film, time in ((9, 5), (4, 5), (7, 1))
    )
    flags = "|".join("1" if number in (0, 18) else "0" for number in range(19))
    files = written(
        tmp_path,
        u__data=ratings,
        u__item=f"4|Été|01-Jan-1995|||{flags}\n",
        u__genre="".join(f"g{number}|{number}\n" for number in range(19)) + "\n",
        u__user="1|24|M|writer|0\n",
    )
    splits = read_movielens_100k(files)
    assert [len(splits[f"sessions/{split}"]["user_id"]) for split in ("train", "validation", "test")] == [8, 1, 1]
    assert splits["sessions/train"]["items"][0] == [7, 4, 9]
    assert splits["sessions/train"]["ratings"][0] == [3.0, 3.0, 3.0]
    assert splits["items/train"] == {
        "item_id": [4],
        "title": ["Été"],
        "release_date": ["01-Jan-1995"],
        "genres": [["g0", "g18"]],
    }
    assert splits["users/train"]["occupation"] == ["writer"]


def test_what_is_not_in_the_form_of_the_source_is_named(tmp_path: Path) -> None:
    convert = make_session_converter("a_", splits={"train": "train"}, divided=False)
    with pytest.raises(RawFileError, match=r"a_train\.txt begins with \['user,item'\]; expected the columns ItemId"):
        convert(written(tmp_path, a_train__txt="user,item\n"))
    with pytest.raises(RawFileError, match=r"a_train\.txt, line 3: 2 cells; expected 6"):
        convert(written(tmp_path, a_train__txt=events((0, [1])) + "1\t2\n"))
    with pytest.raises(RawFileError, match=r"a_item2genre\.txt lacks the film 8"):
        convert(
            written(tmp_path, a_train__txt=events((0, [1])), a_item2idx__txt="8\t1\n", a_item2genre__txt="7::A::B\n")
        )
