"""SQuAD and what is made of it: the course's division, a sample of training questions, the mini sets, the shifts."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from itertools import compress
from pathlib import Path
from typing import Any

from ctxzoo.catalogue.entry import Entry, Files, RawFile, RawFileError, Splits
from ctxzoo.catalogue.order import load_packaged_arrays, rows_to_columns

Row = dict[str, Any]
V1_DEV, V2_DEV = "dev-v1.1.json", "dev-v2.0.json"
COURSE_DEV, COURSE_TEST = "course-dev-v2.0.json", "course-test-v2.0.json"
SHIFTS = {"new_wiki": "new_wiki_v1.0.json", "reddit": "reddit_v1.0.json"}
SAMPLE = "train.json"
ORDER = "squad"
WRITTEN_BY_THE_COURSE = "Miscellaneous"  # title of its own articles
# Of the 16 articles with official answer positions, those that the mini sets are tested on.
MINI_TEST = (
    *("Computational_complexity_theory", "Huguenot", "1973_oil_crisis", "Packet_switching", "Harvard_University"),
    *("Yuan_dynasty", "Immune_system", "Islamism"),
)


def _read_json(path: Path) -> Any:
    """Return what the JSON file holds, or raise RawFileError."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise RawFileError(f"{path.name} is not JSON: {error}; expected the file of the source") from error


def read_squad_questions(path: Path) -> list[Row]:
    """Return id, title, context, question and answers of a file in SQuAD's form."""
    questions = []
    try:
        for article in _read_json(path)["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = question["answers"]
                    texts = [answer["text"] for answer in answers]
                    starts = [answer["answer_start"] for answer in answers]
                    questions.append(
                        {
                            "id": question["id"],
                            "title": article["title"],
                            "context": paragraph["context"],
                            "question": question["question"],
                            "answers": {"text": texts, "answer_start": starts},
                        }
                    )
    except (KeyError, TypeError) as error:
        raise RawFileError(f"{path.name} is not in SQuAD's form: {error!r}; expected the file of the source") from error
    return questions


def read_squad_shifts(files: Files) -> Splits:
    """Return the questions of two of the shifts, each a configuration with the split "test"."""
    return {f"{name}/test": rows_to_columns(read_squad_questions(files[file])) for name, file in SHIFTS.items()}


def read_course_splits(files: Files) -> Splits:
    """Return the two halves of SQuAD 2.0's development set, and the questions that the course wrote itself."""
    return {name: rows_to_columns(rows) for name, rows in _build_course_splits(files).items()}


def _build_course_splits(files: Files) -> dict[str, list[Row]]:
    """Return the splits of the course's dataset, whose rows get the official ids and keep their own as `uuid`."""
    official: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in read_squad_questions(files[V2_DEV]):
        official[row["context"], row["question"]].append(row)

    def match_official_row(row: Row) -> Row:
        """Return the official row with the context and question of a row of the course, and the course's id."""
        rows = official[row["context"], row["question"]]
        if not rows:
            raise RawFileError(
                f"question {row['id']} of the course is not in {V2_DEV}; expected the files of the sources"
            )
        return {**rows.pop(0), "uuid": row["id"]}

    dev_rows, test_rows = read_squad_questions(files[COURSE_DEV]), read_squad_questions(files[COURSE_TEST])
    validation = [{**match_official_row(row), "answers": row["answers"]} for row in dev_rows]
    # The course's test file holds no answers.
    test = _restore_answer_offsets(
        [match_official_row(row) for row in test_rows if row["title"] != WRITTEN_BY_THE_COURSE], "v2"
    )
    written_rows = [{**row, "uuid": row["id"]} for row in test_rows if row["title"] == WRITTEN_BY_THE_COURSE]
    return {"validation": validation, "test": test, "test_unlabelled": written_rows}


def read_training_sample(files: Files) -> Splits:
    """Return 3,997 training questions of SQuAD 1.1 on 800 paragraphs."""
    return {"train": rows_to_columns(_select_sample_questions(files))}


def _select_sample_questions(files: Files) -> list[Row]:
    """Return the questions of the sample, each once, with the offsets that their answers have in SQuAD."""
    rows: dict[str, Row] = {}
    try:
        for paragraph in _read_json(files[SAMPLE]):
            for question in paragraph["qas"]:
                words = paragraph["context"] + question["question"]
                identifier = hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()[:24]
                row = {"id": identifier, "title": "", "context": paragraph["context"], "question": question["question"]}
                # Questions that repeat count once.
                rows.setdefault(identifier, {**row, "answers": {"text": [question["answer"]]}})
    except (KeyError, TypeError) as error:
        raise RawFileError(f"{SAMPLE} has another form: {error!r}; expected the file of the source") from error
    return _restore_answer_offsets(list(rows.values()), "v1_train")


def build_mini_squad_v2(files: Files) -> Splits:
    """Return the mini set with unanswerable questions: training rows of five sources in a stored order."""
    course = _build_course_splits(files)
    official = {row["title"] for row in read_squad_questions(files[V2_DEV])}
    v1_rows = [row for row in read_squad_questions(files[V1_DEV]) if row["title"] not in official]
    parts = {
        "v2": course["test"],
        "v1_dev": _restore_answer_offsets(v1_rows, "v1_dev"),
        "v1_train": [{**row, "title": "squad_v1_train_sample"} for row in _select_sample_questions(files)],
        **{name: read_squad_questions(files[file]) for name, file in SHIFTS.items()},
    }
    rows = [_add_source_column(row, source) for source, part in parts.items() for row in part]
    order = load_packaged_arrays(ORDER)["order"]
    if len(order) != len(rows):
        raise RawFileError(f"the raw files give {len(rows)} training questions; expected {len(order)}")
    held_out = [_add_source_column(row, "v2") for row in course["validation"]]
    return {
        "train": rows_to_columns([rows[index] for index in order.tolist()]),
        "validation": rows_to_columns([row for row in held_out if row["title"] not in MINI_TEST]),
        "test": rows_to_columns([row for row in held_out if row["title"] in MINI_TEST]),
    }


def build_mini_squad_v1(files: Files) -> Splits:
    """Return the answerable questions of `build_mini_squad_v2`."""
    splits = {}
    for name, rows in build_mini_squad_v2(files).items():
        answered = [bool(answers["text"]) for answers in rows["answers"]]
        splits[name] = {column: list(compress(values, answered)) for column, values in rows.items()}
    return splits


def _add_source_column(row: Row, source: str) -> Row:
    """Return the row with the name of its source, and without the id of the course."""
    return {**{name: value for name, value in row.items() if name != "uuid"}, "source": source}


def find_answer_offsets(context: str, answer: str) -> list[int]:
    """Return where an answer occurs in its context, overlapping occurrences too."""
    places, place = [], context.find(answer)
    while place >= 0:
        places.append(place)
        place = context.find(answer, place + 1)
    return places


def _restore_answer_offsets(rows: list[Row], name: str) -> list[Row]:
    """Return rows with the offsets of their answers that the stored dataset has, of several occurrences.

    Of an answer that occurs more than once in its context our copies guess which occurrence is meant; the guesses are
    stored, so that what is built here is what results were computed on.
    """
    indices = iter(load_packaged_arrays(ORDER)[f"occurrences_{name}"].tolist())
    placed = []
    for row in rows:
        starts = []
        for text in row["answers"]["text"]:
            places = find_answer_offsets(row["context"], text)
            index = next(indices, len(places)) if len(places) > 1 else 0
            if index >= len(places):
                raise RawFileError(
                    f"question {row['id']}: the answer {text!r} is not where it was; expected the source"
                )
            starts.append(places[index])
        placed.append({**row, "answers": {"text": row["answers"]["text"], "answer_start": starts}})
    return placed


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
        convert=build_mini_squad_v1,
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
        convert=build_mini_squad_v2,
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
        convert=read_training_sample,
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
        convert=read_course_splits,
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
        convert=read_squad_shifts,
    ),
)
