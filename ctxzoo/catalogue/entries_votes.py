"""Entries of votes."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_votes import CONGRESSES, TABLES, senate

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
        convert=senate,
    ),
)
