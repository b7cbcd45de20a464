"""Sessions of items: the events of HCRNN's authors, and MovieLens 100K in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxzoo.catalogue.entry import Entry, Files, Kinds, RawFile, RawFileError, Rows, Splits
from ctxzoo.catalogue.order import rows_to_columns, split_randomly
from ctxzoo.catalogue.read_lines import read_lines

EVENT = ("ItemId", "Time", "SessionId", "item_idx", "sess_idx")


def make_session_converter(prefix: str, *, splits: Mapping[str, str], divided: bool) -> Callable[[Files], Splits]:
    """Return a function that converts files of events, one a line, to sessions and a table of items.

    Args:
        prefix: Prefix of the names of the files.
        splits: The authors' name of each file to the split that it becomes.
        divided: Whether the sessions of all files are split anew, a tenth each for validation and test; the column
            `authors_split` then names the authors' split.
    """

    def convert(files: Files) -> Splits:
        """Return the splits of the sessions, and the table of items."""
        sessions: dict[str, list[dict[str, Any]]] = {}
        for name, split in splits.items():
            path = files[f"{prefix}{name}.txt"]
            rows = _group_events_by_session(path.name, read_lines(path))
            sessions[split] = [{**row, "authors_split": name} for row in rows] if divided else rows
        divided_sessions = (
            split_randomly([row for rows in sessions.values() for row in rows], "session_id") if divided else sessions
        )
        named = {f"sessions/{split}": rows_to_columns(rows) for split, rows in divided_sessions.items()}
        return {**named, "items/train": _read_item_table(files, prefix)}

    return convert


def read_movielens_100k(files: Files) -> Splits:
    """Return what each person rated, in order of time, by item where times are equal; films; and people."""
    ratings: dict[int, list[tuple[int, int, int]]] = {}
    for number, line in enumerate(read_lines(files["u.data"]), start=1):
        user, item, rating, time = (int(cell) for cell in _split_cells("u.data", number, line, "\t", 4))
        ratings.setdefault(user, []).append((time, item, rating))
    rows = []
    for user, events in sorted(ratings.items()):
        times, items, ratings_of_items = zip(*sorted(events), strict=True)
        rows.append(
            {
                "user_id": user,
                "items": list(items),
                "ratings": [float(one) for one in ratings_of_items],
                "timestamps": list(times),
            }
        )
    genres = [line.split("|")[0] for line in read_lines(files["u.genre"], "latin-1") if line]
    films = [
        _split_cells("u.item", n, line, "|", 24)
        for n, line in enumerate(read_lines(files["u.item"], "latin-1"), start=1)
    ]
    people = [_split_cells("u.user", n, line, "|", 5) for n, line in enumerate(read_lines(files["u.user"]), start=1)]
    return {
        **{f"sessions/{split}": rows_to_columns(found) for split, found in split_randomly(rows, "user_id").items()},
        "items/train": {
            "item_id": [int(cells[0]) for cells in films],
            "title": [cells[1] for cells in films],
            "release_date": [cells[2] for cells in films],
            "genres": [[g for g, flag in zip(genres, cells[5:], strict=True) if flag == "1"] for cells in films],
        },
        "users/train": {
            "user_id": [int(cells[0]) for cells in people],
            "age": [int(cells[1]) for cells in people],
            "gender": [cells[2] for cells in people],
            "occupation": [cells[3] for cells in people],
        },
    }


def _group_events_by_session(file: str, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return sessions in the order of their numbers, their events in the order of the file."""
    if not lines or tuple(lines[0].split("\t")[1:]) != EVENT:
        raise RawFileError(f"{file} begins with {lines[:1]}; expected the columns {', '.join(EVENT)}")
    sessions: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], start=2):
        _, _, time, user, item, session = _split_cells(file, number, line, "\t", 6)
        row = sessions.setdefault(
            int(session), {"session_id": int(session), "user": user, "items": [], "timestamps": []}
        )
        row["items"].append(int(item))
        row["timestamps"].append(int(float(time)))
    return [row for _, row in sorted(sessions.items())]


def _read_item_table(files: Files, prefix: str) -> Rows:
    """Return the table of items; of MovieLens with titles and genres."""
    path = files[f"{prefix}item2idx.txt"]
    pairs = [_split_cells(path.name, n, line, "\t", 2) for n, line in enumerate(read_lines(path), start=1)]
    ids, keys = [int(number) for _, number in pairs], [key for key, _ in pairs]
    if f"{prefix}item2genre.txt" not in files:
        return {"item_id": ids, "item_key": keys}
    path = files[f"{prefix}item2genre.txt"]
    films = {
        cells[0]: cells
        for cells in (
            _split_cells(path.name, n, line, "::", 3) for n, line in enumerate(read_lines(path, "latin-1"), start=1)
        )
    }
    unknown = [key for key in keys if key not in films]
    if unknown:
        raise RawFileError(f"{path.name} lacks the film {unknown[0]}")
    return {
        "item_id": ids,
        "movie_id": [int(key) for key in keys],
        "title": [films[key][1] for key in keys],
        "genres": [films[key][2].split("|") for key in keys],
    }


def _split_cells(file: str, number: int, line: str, separator: str, num_cells: int) -> list[str]:
    """Return the cells of a line, or raise RawFileError unless there are `num_cells`; `number` is the line's."""
    cells = line.rstrip("\r").split(separator)
    if len(cells) != num_cells:
        raise RawFileError(f"{file}, line {number}: {len(cells)} cells; expected {num_cells}")
    return cells


_HCRNN = "https://raw.githubusercontent.com/gtshs2/HCRNN/f63ec9b05d7889c054c5e2da64634cb6c654a4f3/data"
_MOVIELENS = (
    "https://raw.githubusercontent.com/tailintalent/Film-Recommender/5471bea171b601027e89de2cdfb055446e1da06d/ml-100k"
)
_SOURCE = "GitHub gtshs2/HCRNN, commit f63ec9b"
_GROUPLENS = "GroupLens: research use, not to be redistributed without permission"
_SESSIONS: Kinds = {"session_id": "int32", "user": "text", "items": "int32s", "timestamps": "integers"}
_PART = {**_SESSIONS, "authors_split": "text"}
_KEYS: Kinds = {"item_id": "int32", "item_key": "long text"}
_RECIPES = ("citeulike_hcrnn", "session_baselines", "session_floors")
_ANEW = (
    "The sessions of both files, divided anew: of a permutation by numpy's generator with seed 20200608 the first "
    "80 %, the next and the last 10 %."
)


def _list_raw_files(folder: str, prefix: str, *names: str) -> tuple[RawFile, ...]:
    """Return the raw files NAME.txt in a folder of HCRNN's repository, each with `prefix` before its name here."""
    return tuple(RawFile(f"{_HCRNN}/{folder}/{name}.txt", f"{prefix}{name}.txt") for name in names)


ENTRIES = (
    Entry(
        name="ctxzoo-data/citeulike_hcrnn",
        description=(
            "Which articles people added to their collections on CiteULike, in order of time: 1,798 sessions of 4 to "
            "100 articles, 1,980 articles, as the authors of HCRNN divided them (Song et al. 2019)."
        ),
        licence="none is stated; CiteULike gave its data for research",
        source=_SOURCE,
        how="The authors' three files of events, one session for each person; the table of items has CiteULike's keys.",
        uses=_RECIPES,
        megabytes=0.4,
        kinds={**_SESSIONS, **_KEYS},
        files=_list_raw_files("citeulike", "citeulike-", "train", "valid", "test", "item2idx"),
        convert=make_session_converter(
            "citeulike-", splits={"train": "train", "valid": "validation", "test": "test"}, divided=False
        ),
    ),
    Entry(
        name="ctxzoo-data/movielens_1m_hcrnn",
        description=(
            "Films that people rated on MovieLens, in order of time: a part of MovieLens-1M as HCRNN's authors made it "
            "up, 1,299 sessions of 10 to 100 films, 930 films. Their training sessions are not available."
        ),
        licence=_GROUPLENS,
        source=_SOURCE,
        how=_ANEW,
        uses=_RECIPES,
        megabytes=0.3,
        kinds={**_PART, "item_id": "int32", "movie_id": "int32", "title": "long text", "genres": "texts"},
        files=_list_raw_files("movielens", "movielens-", "valid", "test", "item2idx", "item2genre"),
        convert=make_session_converter("movielens-", splits={"valid": "validation", "test": "test"}, divided=True),
    ),
    Entry(
        name="ctxzoo-data/lastfm_hcrnn",
        description=(
            "Artists that people listened to on Last.fm, in order of time: a part of what HCRNN's authors made of it, "
            "270 sessions of 13 to 100 artists, 5,778 artists. Their training sessions are not available."
        ),
        licence="Last.fm: non-commercial use",
        source=_SOURCE,
        how=_ANEW,
        uses=_RECIPES,
        megabytes=0.3,
        kinds={**_PART, **_KEYS},
        files=_list_raw_files("lastfm", "lastfm-", "valid", "test", "item2idx"),
        convert=make_session_converter("lastfm-", splits={"valid": "validation", "test": "test"}, divided=True),
    ),
    Entry(
        name="ctxzoo-data/movielens_100k",
        description=(
            "MovieLens 100K: 100,000 ratings of 943 people, each a session of 20 to 737 films in order of time, 1,682 "
            "films (Harper and Konstan 2015)."
        ),
        licence=_GROUPLENS,
        source="GitHub tailintalent/Film-Recommender, commit 5471bea",
        how=(
            "All that a person rated, in order of time, by number where times are equal. People are divided: of a "
            "permutation by numpy's generator with seed 20200608 the first 80 %, the next and the last 10 %."
        ),
        uses=(*_RECIPES, "badges_lste"),
        megabytes=0.5,
        kinds={
            "user_id": "int32",
            "items": "int32s",
            "ratings": "numbers",
            "timestamps": "integers",
            "item_id": "int32",
            "title": "long text",
            "release_date": "long text",
            "genres": "texts",
            "age": "int16",
            "gender": "long text",
            "occupation": "long text",
        },
        files=tuple(RawFile(f"{_MOVIELENS}/{name}") for name in ("u.data", "u.item", "u.genre", "u.user")),
        convert=read_movielens_100k,
    ),
)
