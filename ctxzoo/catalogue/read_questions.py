"""SQuAD and what is made of it: the course's division, a sample of training questions, the mini sets, the shifts."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from itertools import compress
from pathlib import Path
from typing import Any

from ctxzoo.catalogue.entry import Files, RawFileError, Splits
from ctxzoo.catalogue.order import columns_of, stored

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


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise RawFileError(f"{path.name} is not JSON: {error}; expected the file of the source") from error


def questions(path: Path) -> list[Row]:
    """Return id, title, context, question and answers of a file in SQuAD's form."""
    found = []
    try:
        for article in _content(path)["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = question["answers"]
                    texts = [answer["text"] for answer in answers]
                    starts = [answer["answer_start"] for answer in answers]
                    found.append(
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
    return found


def squad_shifts(files: Files) -> Splits:
    """Return the questions of two of the shifts, each a configuration with the split "test"."""
    return {f"{name}/test": columns_of(questions(files[file])) for name, file in SHIFTS.items()}


def course_division(files: Files) -> Splits:
    """Return the two halves of SQuAD 2.0's development set, and the questions that the course wrote itself."""
    return {name: columns_of(rows) for name, rows in _course(files).items()}


def _course(files: Files) -> dict[str, list[Row]]:
    """Return the splits of the course; its ids become `uuid`, the official ids are those of the same words."""
    official: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in questions(files[V2_DEV]):
        official[row["context"], row["question"]].append(row)

    def same(row: Row) -> Row:
        rows = official[row["context"], row["question"]]
        if not rows:
            raise RawFileError(
                f"question {row['id']} of the course is not in {V2_DEV}; expected the files of the sources"
            )
        return {**rows.pop(0), "uuid": row["id"]}

    course, theirs = questions(files[COURSE_DEV]), questions(files[COURSE_TEST])
    validation = [{**same(row), "answers": row["answers"]} for row in course]
    # The course's test file holds no answers.
    test = _placed([same(row) for row in theirs if row["title"] != WRITTEN_BY_THE_COURSE], "v2")
    own = [{**row, "uuid": row["id"]} for row in theirs if row["title"] == WRITTEN_BY_THE_COURSE]
    return {"validation": validation, "test": test, "test_unlabelled": own}


def training_sample(files: Files) -> Splits:
    """Return 3,997 training questions of SQuAD 1.1 on 800 paragraphs."""
    return {"train": columns_of(_sample(files))}


def _sample(files: Files) -> list[Row]:
    rows: dict[str, Row] = {}
    try:
        for paragraph in _content(files[SAMPLE]):
            for question in paragraph["qas"]:
                words = paragraph["context"] + question["question"]
                identifier = hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()[:24]
                row = {"id": identifier, "title": "", "context": paragraph["context"], "question": question["question"]}
                # Questions that repeat count once.
                rows.setdefault(identifier, {**row, "answers": {"text": [question["answer"]]}})
    except (KeyError, TypeError) as error:
        raise RawFileError(f"{SAMPLE} has another form: {error!r}; expected the file of the source") from error
    return _placed(list(rows.values()), "v1_train")


def mini_v2(files: Files) -> Splits:
    """Return the mini set with unanswerable questions: training rows of five sources in a stored order."""
    course = _course(files)
    official = {row["title"] for row in questions(files[V2_DEV])}
    rest = [row for row in questions(files[V1_DEV]) if row["title"] not in official]
    parts = {
        "v2": course["test"],
        "v1_dev": _placed(rest, "v1_dev"),
        "v1_train": [{**row, "title": "squad_v1_train_sample"} for row in _sample(files)],
        **{name: questions(files[file]) for name, file in SHIFTS.items()},
    }
    rows = [_with_source(row, source) for source, part in parts.items() for row in part]
    order = stored(ORDER)["order"]
    if len(order) != len(rows):
        raise RawFileError(f"the raw files give {len(rows)} training questions; expected {len(order)}")
    held_out = [_with_source(row, "v2") for row in course["validation"]]
    return {
        "train": columns_of([rows[index] for index in order.tolist()]),
        "validation": columns_of([row for row in held_out if row["title"] not in MINI_TEST]),
        "test": columns_of([row for row in held_out if row["title"] in MINI_TEST]),
    }


def mini_v1(files: Files) -> Splits:
    """Return the answerable questions of `mini_v2`."""
    splits = {}
    for name, rows in mini_v2(files).items():
        answered = [bool(answers["text"]) for answers in rows["answers"]]
        splits[name] = {column: list(compress(values, answered)) for column, values in rows.items()}
    return splits


def _with_source(row: Row, source: str) -> Row:
    return {**{name: value for name, value in row.items() if name != "uuid"}, "source": source}


def places_of(context: str, answer: str) -> list[int]:
    """Return where an answer occurs in its context, overlapping occurrences too."""
    places, place = [], context.find(answer)
    while place >= 0:
        places.append(place)
        place = context.find(answer, place + 1)
    return places


def _placed(rows: list[Row], name: str) -> list[Row]:
    """Return rows whose answers stand where those of our rows do.

    Of an answer that occurs more than once in its context our copies guess which occurrence is meant; the guesses are
    stored, so that what is built here is what results were computed on.
    """
    chosen = iter(stored(ORDER)[f"occurrences_{name}"].tolist())
    placed = []
    for row in rows:
        starts = []
        for text in row["answers"]["text"]:
            places = places_of(row["context"], text)
            index = next(chosen, len(places)) if len(places) > 1 else 0
            if index >= len(places):
                raise RawFileError(
                    f"question {row['id']}: the answer {text!r} is not where it was; expected the source"
                )
            starts.append(places[index])
        placed.append({**row, "answers": {"text": row["answers"]["text"], "answer_start": starts}})
    return placed
