"""Roll calls of the Senate: Voteview's tables of votes, roll calls and members of each Congress."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxzoo.catalogue.entry import Entry, Files, RawFile, RawFileError, Splits
from ctxzoo.catalogue.order import SPLITS, load_packaged_arrays, rows_to_columns
from ctxzoo.catalogue.read_lines import parse_csv_rows

CONGRESSES = range(105, 117)
TABLES = ("votes", "rollcalls", "members")
CHAMBER = "Senate"
YEA, NAY = ("1", "2", "3"), ("4", "5", "6")
PARTIES = {"100": "Democrat", "200": "Republican", "328": "Independent"}
FOLDS, FOLD_SEED = 5, 20180202
# `.npz` with "validation", a bit for each vote of the last fold, and "new_bills", the split of each bill.
KEPT = "roll_call"


def read_senate_votes(files: Files) -> Splits:
    """Return votes, divided vote by vote and bill by bill, bills, and legislators."""
    bills = [row for congress in CONGRESSES for row in _read_bills(files, congress)]
    bills.sort(key=lambda row: (row["congress"], row["rollnumber"]))
    number_of = {(row["congress"], row["rollnumber"]): number for number, row in enumerate(bills)}
    cast: list[tuple[int, int, int]] = []  # bill, icpsr, vote
    members = _read_senators(files)
    for congress in CONGRESSES:
        for row in _read_csv_table(files, congress, "votes", ("rollnumber", "icpsr", "cast_code")):
            bill = number_of.get((congress, int(row["rollnumber"])))
            code, icpsr = str(int(float(row["cast_code"]))), int(float(row["icpsr"]))
            if bill is not None and code in YEA + NAY and icpsr in members:
                cast.append((bill, icpsr, int(code in YEA)))
    cast.sort()
    ids = {icpsr: number for number, icpsr in enumerate(sorted({icpsr for _, icpsr, _ in cast}))}
    votes = np.array([(ids[icpsr], bill, vote) for bill, icpsr, vote in cast], np.int64)
    people = [{"legislator_id": number, "icpsr": icpsr, **members[icpsr]} for icpsr, number in ids.items()]
    return _split_votes_by_vote_and_bill(votes, bills, people)


def _split_votes_by_vote_and_bill(votes: Any, bills: list[dict[str, Any]], people: list[dict[str, Any]]) -> Splits:
    """Return the tables: votes divided at random, and votes on bills that are new in validation or test.

    `votes` are rows of legislator, bill and vote; `bills` and `people` are the rows of their tables.
    """
    stored = load_packaged_arrays(KEPT)
    fold = np.random.default_rng(FOLD_SEED).integers(0, FOLDS, len(votes))
    held_out_votes = np.flatnonzero(fold == FOLDS - 1)
    bill_splits = stored["new_bills"]
    if len(bill_splits) != len(bills) or len(stored["validation"]) != -(-len(held_out_votes) // 8):
        raise RawFileError(
            f"the tables have {len(bills):,} roll calls and {len(votes):,} votes; "
            f"expected {len(bill_splits):,} roll calls"
        )
    split = np.zeros(len(votes), np.int64)
    split[held_out_votes] = 2 - np.unpackbits(stored["validation"], count=len(held_out_votes))
    names = ("legislator_id", "bill_id", "vote")
    tables: dict[str, Any] = {}
    for number, name in enumerate(SPLITS):
        rows = votes[split == number]
        columns = {column: rows[:, place].tolist() for place, column in enumerate(names)}
        tables[f"votes/{name}"] = {**columns, "fold": fold[split == number].tolist()}
    for number, name in enumerate(SPLITS):
        rows = votes[bill_splits[votes[:, 1]] == number]
        tables[f"votes_new_bills/{name}"] = {column: rows[:, place].tolist() for place, column in enumerate(names)}
    bill_rows = [
        {"bill_id": number, **row, "cold_start_split": SPLITS[bill_splits[number]]} for number, row in enumerate(bills)
    ]
    tables["bills/train"] = rows_to_columns(bill_rows)
    tables["legislators/train"] = rows_to_columns(people)
    return tables


def _read_bills(files: Files, congress: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each roll call of a Congress: what was voted on, the texts and the counts."""
    texts = ("date", "bill_number", "vote_question", "vote_desc", "dtl_desc", "vote_result")
    numbers = ("rollnumber", "yea_count", "nay_count", "nominate_mid_1", "nominate_spread_1")
    for row in _read_csv_table(files, congress, "rollcalls", texts + numbers):
        yield {
            "congress": congress,
            "rollnumber": int(row["rollnumber"]),
            **{name: row[name] for name in texts[:-1]},
            "text": " ".join(f"{row['vote_desc']} {row['dtl_desc']}".split()),
            "vote_result": row["vote_result"],
            "yea_count": int(row["yea_count"]),
            "nay_count": int(row["nay_count"]),
            "is_nomination": row["bill_number"].startswith("PN"),
            "nominate_mid_1": _parse_optional_float(row["nominate_mid_1"]),
            "nominate_spread_1": _parse_optional_float(row["nominate_spread_1"]),
        }


def _read_senators(files: Files) -> dict[int, dict[str, Any]]:
    """Return the facts of each senator by ICPSR number; one who changes party has two numbers."""
    senators: dict[int, dict[str, Any]] = {}
    names = ("chamber", "icpsr", "bioguide_id", "bioname", "party_code", "state_abbrev", "born", "nominate_dim1")
    for congress in CONGRESSES:
        for row in _read_csv_table(files, congress, "members", (*names, "nominate_dim2", "nominate_number_of_votes")):
            if row["chamber"] != CHAMBER:
                continue
            icpsr = int(float(row["icpsr"]))
            before = senators.get(icpsr, {"first_congress": congress, "num_votes": 0.0})
            party = row["party_code"].removesuffix(".0")
            if party not in PARTIES:
                raise RawFileError(
                    f"S{congress}_members.csv: party_code {party!r}; expected one of {', '.join(PARTIES)}"
                )
            senators[icpsr] = {
                "bioguide_id": row["bioguide_id"],
                "name": row["bioname"],
                "party": PARTIES[party],
                "state": row["state_abbrev"],
                "born": int(float(row["born"])),
                "first_congress": before["first_congress"],
                "last_congress": congress,
                "num_votes": before["num_votes"] + (_parse_optional_float(row["nominate_number_of_votes"]) or 0.0),
                "nominate_dim1": _parse_optional_float(row["nominate_dim1"]),
                "nominate_dim2": _parse_optional_float(row["nominate_dim2"]),
            }
    return senators


def _read_csv_table(files: Files, congress: int, table: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the rows of one of Voteview's tables of a Congress."""
    path = files[f"S{congress}_{table}.csv"]
    with path.open(encoding="utf-8", newline="") as file:
        yield from parse_csv_rows(file, path.name, columns)


def _parse_optional_float(text: str) -> float | None:
    """Return the number, or None for a blank cell."""
    return float(text) if text.strip() else None


_GPIRT = "https://raw.githubusercontent.com/yahoochen97/GPIRT/87570b4fe295699e4bfe33dd52d5679e9e1e5fe4/data"

ENTRIES = (
    Entry(
        name="ctxzoo-data/roll_call",
        description=(
            "Roll calls of the Senate of the United States, 105th to 116th Congress (1997 to 2020), with the "
            "descriptions of what was voted on: 729,082 votes of 244 senators on 7,554 roll calls."
        ),
        licence="Voteview: free for use with citation (Lewis et al.); the repository states none",
        source="GitHub yahoochen97/GPIRT, commit 87570b4, which has exports of Voteview",
        how=(
            "Codes 1 to 3 are yea, 4 to 6 nay, others are left out, as are presidents. Votes are drawn into five folds "
            "by numpy's generator with seed 20180202, of which the last is halved for validation and test; in "
            "votes_new_bills all roll calls on one measure are on one side. Both divisions are kept with the package."
        ),
        uses=("roll_call_nipen", "roll_call_floors"),
        megabytes=1.3,
        kinds={
            "legislator_id": "int16",
            "bill_id": "int16",
            "vote": "int8",
            "fold": "int8",
            "bills/bill_id": "int32",
            **dict.fromkeys(("congress", "rollnumber"), "int16"),
            **dict.fromkeys(
                ("date", "bill_number", "vote_question", "vote_desc", "dtl_desc", "text", "vote_result"), "long text"
            ),
            **dict.fromkeys(("yea_count", "nay_count"), "int16"),
            "is_nomination": "boolean",
            "cold_start_split": "long text",
            **dict.fromkeys(("nominate_mid_1", "nominate_spread_1"), "float32"),
            "legislators/legislator_id": "int32",
            "icpsr": "int32",
            **dict.fromkeys(("bioguide_id", "name", "party", "state"), "long text"),
            "born": "integer",
            **dict.fromkeys(("first_congress", "last_congress"), "int16"),
            "num_votes": "number",
            **dict.fromkeys(("nominate_dim1", "nominate_dim2"), "float32"),
        },
        files=tuple(RawFile(f"{_GPIRT}/S{congress}_{table}.csv") for congress in CONGRESSES for table in TABLES),
        convert=read_senate_votes,
    ),
)
