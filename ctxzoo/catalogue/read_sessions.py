"""Converters of sessions of items: the events of HCRNN's authors, and MovieLens 100K in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ctxzoo.catalogue.entry import Files, RawFileError, Rows, Splits
from ctxzoo.catalogue.order import columns_of
from ctxzoo.catalogue.read_lines import lines_of

SPLIT_SEED = 20200608  # of sets that are divided here
EVENT = ("ItemId", "Time", "SessionId", "item_idx", "sess_idx")
TRAIN, HELD_OUT = 0.8, 0.9  # fractions of the sessions up to where train and validation go


def authors_sessions(prefix: str, *, splits: Mapping[str, str], divided: bool) -> Callable[[Files], Splits]:
    """Return a converter of events, one a line, to sessions, and of the table of items.

    Args:
        prefix: of the names of the files.
        splits: what the authors call a file, to the split that it is.
        divided: the sessions of all files are divided anew, a tenth each for validation and test; `authors_split` then
            says where one came from.
    """

    def convert(files: Files) -> Splits:
        sessions: dict[str, list[dict[str, Any]]] = {}
        for name, split in splits.items():
            path = files[f"{prefix}{name}.txt"]
            found = _sessions(path.name, lines_of(path))
            sessions[split] = [{**row, "authors_split": name} for row in found] if divided else found
        rows = (
            drawn_splits([row for found in sessions.values() for row in found], "session_id") if divided else sessions
        )
        named = {f"sessions/{split}": columns_of(found) for split, found in rows.items()}
        return {**named, "items/train": _items(files, prefix)}

    return convert


def movielens_100k(files: Files) -> Splits:
    """Return what each person rated, in order of time, by item where times are equal; films; and people."""
    ratings: dict[int, list[tuple[int, int, int]]] = {}
    for number, line in enumerate(lines_of(files["u.data"]), start=1):
        user, item, rating, time = (int(cell) for cell in _cells("u.data", number, line, "\t", 4))
        ratings.setdefault(user, []).append((time, item, rating))
    rows = []
    for user, events in sorted(ratings.items()):
        times, items, given = zip(*sorted(events), strict=True)
        rows.append(
            {"user_id": user, "items": list(items), "ratings": [float(one) for one in given], "timestamps": list(times)}
        )
    genres = [line.split("|")[0] for line in lines_of(files["u.genre"], "latin-1") if line]
    films = [_cells("u.item", n, line, "|", 24) for n, line in enumerate(lines_of(files["u.item"], "latin-1"), start=1)]
    people = [_cells("u.user", n, line, "|", 5) for n, line in enumerate(lines_of(files["u.user"]), start=1)]
    return {
        **{f"sessions/{split}": columns_of(found) for split, found in drawn_splits(rows, "user_id").items()},
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


def _sessions(file: str, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return sessions in the order of their numbers, their events in the order of the file."""
    if not lines or tuple(lines[0].split("\t")[1:]) != EVENT:
        raise RawFileError(f"{file} begins with {lines[:1]}; expected the columns {', '.join(EVENT)}")
    sessions: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], start=2):
        _, _, time, user, item, session = _cells(file, number, line, "\t", 6)
        row = sessions.setdefault(
            int(session), {"session_id": int(session), "user": user, "items": [], "timestamps": []}
        )
        row["items"].append(int(item))
        row["timestamps"].append(int(float(time)))
    return [row for _, row in sorted(sessions.items())]


def _items(files: Files, prefix: str) -> Rows:
    """Return the table of items; of MovieLens with titles and genres."""
    path = files[f"{prefix}item2idx.txt"]
    pairs = [_cells(path.name, n, line, "\t", 2) for n, line in enumerate(lines_of(path), start=1)]
    ids, keys = [int(number) for _, number in pairs], [key for key, _ in pairs]
    if f"{prefix}item2genre.txt" not in files:
        return {"item_id": ids, "item_key": keys}
    path = files[f"{prefix}item2genre.txt"]
    films = {
        cells[0]: cells
        for cells in (_cells(path.name, n, line, "::", 3) for n, line in enumerate(lines_of(path, "latin-1"), start=1))
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


def drawn_splits(rows: Iterable[dict[str, Any]], by: str) -> dict[str, list[dict[str, Any]]]:
    """Return train, validation and test, drawn, the rows of each in the order of `by`.

    Args:
        rows: of whom 80 %, 10 % and 10 % are drawn.
        by: a column whose values tell rows apart.
    """
    ordered = sorted(rows, key=lambda row: row[by])
    drawn = np.random.default_rng(SPLIT_SEED).permutation(len(ordered))
    ends = [int(TRAIN * len(ordered)), int(HELD_OUT * len(ordered))]
    parts = zip(("train", "validation", "test"), np.split(drawn, ends), strict=True)
    return {split: [ordered[row] for row in sorted(part.tolist())] for split, part in parts}


def _cells(file: str, number: int, line: str, between: str, expected: int) -> list[str]:
    cells = line.rstrip("\r").split(between)
    if len(cells) != expected:
        raise RawFileError(f"{file}, line {number}: {len(cells)} cells; expected {expected}")
    return cells
