"""Entries of events at times."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_events import EVENTS_FILE, FOLDS, NAMES_FILE, TIMES_FILE, badges

_REPOSITORY = "StatsDLMathsRecomSys/Self-attention-with-Functional-Time-Representation-Learning"
_SO = f"https://raw.githubusercontent.com/{_REPOSITORY}/b5cd85cc897ac4a3b7f5a4c39ee0b98ebbd44988/input_data/so"

ENTRIES = (
    Entry(
        name="ctxzoo-data/stackoverflow_badges",
        description=(
            "Badges that people were given on Stack Overflow, with the time of each to the millisecond: 4,468 people, "
            "327,487 badges of 22 kinds, 41 to 736 of a person (Du et al. 2016; files of Xu et al. 2019)."
        ),
        licence="CC BY-SA (content of Stack Exchange)",
        source=f"GitHub {_REPOSITORY}, commit b5cd85c",
        how=(
            "The five test folds of the source overlap: every sequence of events and times that is in one of them, "
            "once. The training folds are not to be had. People, numbered by their first time, then by events, are "
            "divided: of a permutation by numpy's generator with seed 20200608 the first 80 %, the next and the last "
            "10 %."
        ),
        uses=("badges_lste",),
        megabytes=2.0,
        kinds={
            "sequence_id": "int32",
            "events": "uint8s",
            "timestamps": "float64s",
            "event_id": "int32",
            "badge": "long text",
        },
        files=(
            *(RawFile(f"{_SO}/{file.format(fold)}") for fold in FOLDS for file in (EVENTS_FILE, TIMES_FILE)),
            RawFile(f"{_SO}/{NAMES_FILE}"),
        ),
        convert=badges,
    ),
)
