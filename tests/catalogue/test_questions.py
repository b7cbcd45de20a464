from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctxzoo.catalogue import questions as sets
from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.questions import COURSE_DEV, COURSE_TEST, SAMPLE, SHIFTS, V1_DEV, V2_DEV

CONTEXT = "oak and elm and oak"


def question(identifier: str, text: str, answers: list[tuple[str, int]]) -> dict[str, Any]:
    return {"id": identifier, "question": text, "answers": [{"text": a, "answer_start": s} for a, s in answers]}


def squad(*articles: tuple[str, list[dict[str, Any]]]) -> str:
    return json.dumps(
        {"version": "v2.0", "data": [{"title": t, "paragraphs": [{"context": CONTEXT, "qas": q}]} for t, q in articles]}
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    dev = ("Warsaw", [question("v2a", "Which?", [("elm", 8)]), question("v2b", "None?", [])])
    held = ("Huguenot", [question("v2c", "What?", [("elm", 8)])])
    # The same question twice: the course's order tells them apart.
    test = ("Rhine", [question("v2d", "Twice?", [("oak", 0)]), question("v2e", "Twice?", [])])
    course_dev = (dev[0], [question("u1", "Which?", [("elm", 8)]), question("u2", "None?", [])])
    course_held = (held[0], [question("u3", "What?", [("elm", 8)])])
    course_test = ("Rhine", [question("u4", "Twice?", []), question("u5", "Twice?", [])])
    own = ("Miscellaneous", [question("u6", "Ours?", [])])
    sample = [{"context": CONTEXT, "qas": [{"question": "Tree?", "answer": "oak"}] * 2, "abstract_30": "x"}]
    contents = {
        V2_DEV: squad(test, dev, held),
        V1_DEV: squad(
            ("Warsaw", [question("v1a", "Seen?", [("elm", 8)])]), ("Kenya", [question("v1b", "New?", [("oak", 0)])])
        ),
        COURSE_DEV: squad(course_dev, course_held),
        COURSE_TEST: squad(course_test, own),
        SAMPLE: json.dumps(sample),
        **{file: squad((name, [question(name, "How?", [("elm", 8)])])) for name, file in SHIFTS.items()},
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return {name: tmp_path / name for name in contents}


@pytest.fixture(autouse=True)
def _order(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {
        "order": [5, 0, 4, 1, 3, 2],
        "occurrences_v2": [1],
        "occurrences_v1_dev": [0],
        "occurrences_v1_train": [1],
    }
    monkeypatch.setattr(
        sets, "load_packaged_arrays", lambda name: {key: np.array(value) for key, value in arrays.items()}
    )


def test_the_course_has_official_ids_and_its_own(files: dict[str, Path]) -> None:
    splits = sets.read_course_splits(files)
    assert splits["validation"]["id"] == ["v2a", "v2b", "v2c"]
    assert splits["validation"]["uuid"] == ["u1", "u2", "u3"]
    assert splits["test"]["id"] == ["v2d", "v2e"]
    assert splits["test"]["uuid"] == ["u4", "u5"]
    assert splits["test"]["answers"] == [{"text": ["oak"], "answer_start": [16]}, {"text": [], "answer_start": []}]
    assert splits["test_unlabelled"]["id"] == splits["test_unlabelled"]["uuid"] == ["u6"]


def test_a_sample_has_no_question_twice(files: dict[str, Path]) -> None:
    rows = sets.read_training_sample(files)["train"]
    assert rows["id"] == ["49968880e2ba4c5f30714e0c"]
    assert rows["answers"] == [{"text": ["oak"], "answer_start": [16]}]
    assert rows["title"] == [""]


def test_the_mini_sets(files: dict[str, Path]) -> None:
    v2, v1 = sets.build_mini_squad_v2(files), sets.build_mini_squad_v1(files)
    assert v2["train"]["source"] == ["reddit", "v2", "new_wiki", "v2", "v1_train", "v1_dev"]
    assert v2["train"]["id"][1::2] == ["v2d", "v2e", "v1b"]
    assert v2["train"]["title"] == ["reddit", "Rhine", "new_wiki", "Rhine", "squad_v1_train_sample", "Kenya"]
    assert v2["validation"]["id"] == ["v2a", "v2b"]
    assert v2["test"]["id"] == ["v2c"]
    assert v1["train"]["source"] == ["reddit", "v2", "new_wiki", "v1_train", "v1_dev"]
    assert v1["validation"]["id"] == ["v2a"]
    assert set(v1["test"]) == {"id", "title", "context", "question", "answers", "source"}


def test_shifts_are_configurations(files: dict[str, Path]) -> None:
    splits = sets.read_squad_shifts(files)
    assert list(splits) == ["new_wiki/test", "reddit/test"]
    assert splits["reddit/test"]["answers"] == [{"text": ["elm"], "answer_start": [8]}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (V2_DEV, "{", "is not JSON"),
        (V2_DEV, '{"data": [{"title": "x"}]}', "is not in SQuAD's form: KeyError"),
        (V2_DEV, squad(("Rhine", [])), "question u1 of the course is not in dev-v2.0.json"),
        (SAMPLE, '[{"context": "x"}]', "has another form"),
        (SAMPLE, '[{"context": "x", "qas": [{"question": "q", "answer": "absent"}]}]', "'absent' is not where it was"),
        (SHIFTS["reddit"], squad(("a", [])), "give 5 training questions; expected 6"),
    ],
)
def test_other_files_than_those_of_the_source(files: dict[str, Path], name: str, content: str, message: str) -> None:
    files[name].write_text(content, encoding="utf-8")
    with pytest.raises(RawFileError, match=message):
        sets.build_mini_squad_v2(files)


def test_overlapping_occurrences_count() -> None:
    assert sets.find_answer_offsets("aaa", "aa") == [0, 1]
    assert sets.find_answer_offsets("abc", "d") == []
