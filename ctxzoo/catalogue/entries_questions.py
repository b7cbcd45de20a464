"""Entries of questions on paragraphs: SQuAD, its samples and its shifts."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_questions import (
    COURSE_DEV,
    COURSE_TEST,
    SHIFTS,
    course_division,
    mini_v1,
    mini_v2,
    squad_shifts,
    training_sample,
)

_LICENCE = "CC BY-SA 4.0"
_GITHUB = "https://raw.githubusercontent.com"
_OFFICIAL = f"{_GITHUB}/rajpurkar/SQuAD-explorer/eee5fdbf62f8613a7812b03419e6b29617b74fd1/dataset"
_COURSE = f"{_GITHUB}/chrischute/squad/4f2fd9fcd60b21e1f5fb32ac70dc50f867705de0/data"
_SHIFTS = f"{_GITHUB}/modestyachts/squadshifts-website/master/datasets"
_SAMPLE = f"{_GITHUB}/EmptyCityJK/flan-response-evaluator/fea97ba511be29182d6b3e4e38b7bf9f56e1dc36/data/squad"
_V1_DEV = RawFile(
    f"{_OFFICIAL}/dev-v1.1.json", sha256="95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"
)
_V2_DEV = RawFile(
    f"{_OFFICIAL}/dev-v2.0.json", sha256="80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8"
)
_COURSE_FILES = (RawFile(f"{_COURSE}/dev-v2.0.json", COURSE_DEV), RawFile(f"{_COURSE}/test-v2.0.json", COURSE_TEST))
_SAMPLE_FILES = (RawFile(f"{_SAMPLE}/train.json"),)
_SHIFT_FILES = tuple(RawFile(f"{_SHIFTS}/{file}") for file in SHIFTS.values())
_MINI_FILES = (_V1_DEV, _V2_DEV, *_COURSE_FILES, *_SAMPLE_FILES, *_SHIFT_FILES)
_KINDS = {"id": "text", "title": "text", "context": "text", "question": "text", "answers": "answers"}
_PARTS = (
    "GitHub rajpurkar/SQuAD-explorer eee5fdb, chrischute/squad 4f2fd9f, EmptyCityJK/flan-response-evaluator fea97ba, "
    "modestyachts/squadshifts-website (no commit is known, so that the fingerprint decides)"
)
_GUESSES = (
    "Where an answer occurs more than once in its context our copy guessed which occurrence is meant (right for 98 % "
    "where that is known); the guesses are stored, so that the rows are those that results were computed on."
)
_HUB = (
    "Our own folder holds the validation split alone, with answer positions that are guessed where an answer occurs "
    "more than once in its context. `get` downloads the Hub's dataset, train split and official positions; answers, so "
    "also exact match and F1, are the same. No results file was computed on it yet."
)

ENTRIES = (
    Entry(
        name="rajpurkar/squad",
        description="SQuAD 1.1: questions on Wikipedia paragraphs, each answered by a span.",
        licence=_LICENCE,
        source="the Hub, newest revision",
        how="As it is on the Hub.",
        uses=("squad_bidaf",),
        megabytes=16.3,
        differs=_HUB,
    ),
    Entry(
        name="rajpurkar/squad_v2",
        description="SQuAD 2.0: SQuAD 1.1 with questions that the paragraph does not answer.",
        licence=_LICENCE,
        source="the Hub, newest revision",
        how="As it is on the Hub.",
        uses=("squad_bidaf",),
        megabytes=17.7,
        differs=_HUB,
    ),
    Entry(
        name="ctxzoo-data/squad_v1_mini",
        description=(
            "The answerable questions of ctxzoo-data/squad_v2_mini, a mixture and no official split. Of 29,313 "
            "training questions 9,803 are on Reddit comments and 7,938 on new Wikipedia articles (SQuADShifts), 4,557 "
            "of SQuAD 1.1's development set, 3,997 of its training set, 3,018 of SQuAD 2.0's development set; 1,534 "
            "questions for validation and 1,376 for test are of 16 other articles of that set."
        ),
        licence=_LICENCE,
        source=_PARTS,
        how="Its scores do not compare with published SQuAD scores. " + _GUESSES,
        uses=("squad_bidaf", "squad_sliding_window", "small_reader", "cloze_questions"),
        megabytes=8.4,
        kinds={**_KINDS, "source": "text"},
        files=_MINI_FILES,
        convert=mini_v1,
    ),
    Entry(
        name="ctxzoo-data/squad_v2_mini",
        description=(
            "A mixture of SQuAD 2.0, SQuAD 1.1 and SQuADShifts, and no official split. Of 32,090 training questions "
            "9,803 are on Reddit comments and 7,938 on new Wikipedia articles (SQuADShifts), 4,557 of SQuAD 1.1's "
            "development set, 3,997 of its training set, 5,795 of SQuAD 2.0's development set; 3,059 questions for "
            "validation and 3,019 for test are of 16 other articles of that set. Nine in a hundred training questions "
            "have no answer, but half of those it is tested on."
        ),
        licence=_LICENCE,
        source=_PARTS,
        how="Its scores do not compare with published SQuAD scores. " + _GUESSES,
        uses=("squad_bidaf", "small_reader"),
        megabytes=9.1,
        kinds={**_KINDS, "source": "text"},
        files=_MINI_FILES,
        convert=mini_v2,
    ),
    Entry(
        name="ctxzoo-data/squad_v1_train_sample",
        description="3,997 training questions of SQuAD 1.1 on 800 paragraphs, one answer each.",
        licence=_LICENCE,
        source="GitHub EmptyCityJK/flan-response-evaluator, commit fea97ba",
        how="A part of the two mini sets. The source has neither ids nor titles: ids are hashes. " + _GUESSES,
        uses=(),
        megabytes=0.4,
        kinds=_KINDS,
        files=_SAMPLE_FILES,
        convert=training_sample,
    ),
    Entry(
        name="ctxzoo-data/squad_v2_cs224n",
        description="SQuAD 2.0's development set, divided by article into validation and test by a Stanford course.",
        licence=_LICENCE,
        source="GitHub chrischute/squad, commit 4f2fd9f, and rajpurkar/SQuAD-explorer, commit eee5fdb",
        how="A part of the two mini sets. The answers of test are joined from the official file. " + _GUESSES,
        uses=(),
        megabytes=0.9,
        kinds={**_KINDS, "uuid": "text"},
        files=(_V2_DEV, *_COURSE_FILES),
        convert=course_division,
    ),
    Entry(
        name="ctxzoo-data/squadshifts",
        description="SQuADShifts: 17,741 questions of SQuAD's style on new Wikipedia articles and on Reddit comments.",
        licence="none is stated",
        source="GitHub modestyachts/squadshifts-website, branch master; no commit is known: the fingerprint decides",
        how="A part of the two mini sets: the configurations new_wiki and reddit; the Hub has nyt and amazon too.",
        uses=(),
        megabytes=1.7,
        kinds=_KINDS,
        files=_SHIFT_FILES,
        convert=squad_shifts,
    ),
)
