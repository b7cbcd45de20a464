"""Entries of sessions of items."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, Kinds, RawFile
from ctxzoo.catalogue.read_sessions import authors_sessions, movielens_100k

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


def _files(folder: str, prefix: str, *names: str) -> tuple[RawFile, ...]:
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
        files=_files("citeulike", "citeulike-", "train", "valid", "test", "item2idx"),
        convert=authors_sessions(
            "citeulike-", splits={"train": "train", "valid": "validation", "test": "test"}, divided=False
        ),
    ),
    Entry(
        name="ctxzoo-data/movielens_1m_hcrnn",
        description=(
            "Films that people rated on MovieLens, in order of time: a part of MovieLens-1M as HCRNN's authors made it "
            "up, 1,299 sessions of 10 to 100 films, 930 films. Their training sessions are not to be had."
        ),
        licence=_GROUPLENS,
        source=_SOURCE,
        how=_ANEW,
        uses=_RECIPES,
        megabytes=0.3,
        kinds={**_PART, "item_id": "int32", "movie_id": "int32", "title": "long text", "genres": "texts"},
        files=_files("movielens", "movielens-", "valid", "test", "item2idx", "item2genre"),
        convert=authors_sessions("movielens-", splits={"valid": "validation", "test": "test"}, divided=True),
    ),
    Entry(
        name="ctxzoo-data/lastfm_hcrnn",
        description=(
            "Artists that people listened to on Last.fm, in order of time: a part of what HCRNN's authors made of it, "
            "270 sessions of 13 to 100 artists, 5,778 artists. Their training sessions are not to be had."
        ),
        licence="Last.fm: non-commercial use",
        source=_SOURCE,
        how=_ANEW,
        uses=_RECIPES,
        megabytes=0.3,
        kinds={**_PART, **_KEYS},
        files=_files("lastfm", "lastfm-", "valid", "test", "item2idx"),
        convert=authors_sessions("lastfm-", splits={"valid": "validation", "test": "test"}, divided=True),
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
        convert=movielens_100k,
    ),
)
