"""The official SQuAD JSON form: articles, their paragraphs, and questions on each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.text_files import read_utf8

SquadVersion = Literal["1.1", "2.0"]


class SquadFormatError(TextFormatError):
    """The data is not SQuAD-shaped, or a row contradicts itself."""


def read_squad_json(file: Path, *, with_answers: bool = True) -> tuple[list[dict[str, Any]], SquadVersion | None]:
    """Return the questions of one file, and the version that the file names, if it does.

    Args:
        file: Path of a JSON file in the official SQuAD format.
        with_answers: Whether answers are required and read; if not, they are ignored.

    Returns:
        One row for each question, in order: title ("" where there is none), context, id, question, and, on request,
        answers with `text` and `answer_start`.

    Raises:
        FileNotFoundError: no such file.
        DatasetFileError: the file is not UTF-8 or not JSON.
        SquadFormatError: it is not of SQuAD's form; the message says where.
    """
    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected a SQuAD JSON file")
    try:
        content = json.loads(read_utf8(file))
    except json.JSONDecodeError as error:
        raise DatasetFileError(f"{file}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise DatasetFileError(f"{file}: nested too deeply to be of SQuAD's form") from error
    rows = list(_read_rows(str(file), content, with_answers))
    return rows, _read_version(content.get("version"))


def read_questions(file: Path) -> list[dict[str, str]]:
    """Return id, question and context of every question of a SQuAD JSON file; answers are not needed.

    Raises:
        FileNotFoundError: no such file.
        DatasetFileError: not UTF-8 or not JSON.
        SquadFormatError: not of SQuAD's form, no question, an id twice, or a question or context without a word; the
            message names the question.
    """
    rows, _ = read_squad_json(file, with_answers=False)
    questions = [{name: row[name] for name in ("id", "question", "context")} for row in rows]
    seen: set[str] = set()
    distinct = []
    for question in questions:
        identifier = question["id"]
        blank = next((name for name in ("question", "context") if not question[name].strip()), None)
        reason = None if blank is None else f"the {blank} of id {identifier!r} is empty; leave it out"
        if identifier in seen:
            reason = f"two questions have the id {identifier!r}; ids must differ"
        if reason is None:
            distinct.append(question)
        else:
            skip_or_raise(f"{file}, id {identifier!r}, {reason}", SquadFormatError(f"{file}: {reason}"))
        seen.add(identifier)
    if not distinct:
        raise SquadFormatError(f"{file} holds no question")
    return distinct


def _read_version(value: object) -> SquadVersion | None:
    """Return the SQuAD version that the value of "version" names; None for any other."""
    number = value.lower().lstrip("v") if isinstance(value, str) else ""
    if number.startswith("2"):
        return "2.0"
    return "1.1" if number.startswith("1.1") else None


def _read_rows(file: str, content: object, with_answers: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each question of a file's content; bad ones are left out or raise, as the options say."""
    row = numeric = unanswered = 0
    for a, article in enumerate(_require_member(file, content, "data", list, "the file")):
        for title, context, qas, in_paragraph in _read_paragraphs(file, article, f"data[{a}]"):
            for q, question in enumerate(qas):
                location = f"row {row}, {in_paragraph}.qas[{q}]"
                row += 1
                try:
                    identifier = _read_identifier(file, question, location)
                    question_location = f"{location} (id {identifier!r})"
                    fields = {
                        "id": identifier,
                        "question": _require_member(file, question, "question", str, question_location),
                    }
                    if with_answers:
                        fields["answers"] = _read_answers(file, question, question_location)
                except SquadFormatError as error:
                    skip_or_raise(f"{file}, {location}", error)
                    continue
                numeric += question["id"] != identifier
                unanswered += with_answers and question.get("answers") is None
                yield {"title": title, "context": context, **fields}
    record_note(file, "numeric ids of questions, read as text", numeric)
    record_note(file, "questions without answers, read as unanswerable", unanswered)


def _read_paragraphs(file: str, article: object, location: str) -> Iterator[tuple[str, str, list[Any], str]]:
    """Yield title, context, questions and place of each paragraph of an article."""
    try:
        has_title = _require_mapping(file, article, location).get("title") is not None
        title = _require_member(file, article, "title", str, location) if has_title else ""
        paragraphs = _require_member(file, article, "paragraphs", list, location)
    except SquadFormatError as error:
        skip_or_raise(f"{file}, {location}", error)
        return
    for p, paragraph in enumerate(paragraphs):
        place = f"{location}.paragraphs[{p}]"
        try:
            context = _require_member(file, paragraph, "context", str, place)
            yield title, context, _require_member(file, paragraph, "qas", list, place), place
        except SquadFormatError as error:
            skip_or_raise(f"{file}, {place}", error)


def _read_identifier(file: str, question: object, location: str) -> str:
    """Return the id of a question, a text or a whole number, as text."""
    found = _require_mapping(file, question, location).get("id")
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    identifier: str = _require_member(file, question, "id", str, location)
    return identifier


def _read_answers(file: str, question: dict[str, Any], location: str) -> dict[str, list[Any]]:
    """Return the texts and offsets of a question's answers; empty lists if it has none."""
    answers = [] if question.get("answers") is None else _require_member(file, question, "answers", list, location)
    texts = [_require_member(file, answer, "text", str, f"{location}.answers[{i}]") for i, answer in enumerate(answers)]
    starts = [
        _require_member(file, answer, "answer_start", int, f"{location}.answers[{i}]")
        for i, answer in enumerate(answers)
    ]
    if question.get("is_impossible") is True and answers:
        raise SquadFormatError(f"{file}, {location}: is_impossible is true, but there are answers: {texts}")
    return {"text": texts, "answer_start": starts}


def _require_mapping(file: str, value: object, location: str) -> dict[str, Any]:
    """Return a JSON value if it is an object, else raise `SquadFormatError` with file and location."""
    if not isinstance(value, dict):
        raise SquadFormatError(f"{file}, {location}: {_shorten_json(value)}; expected a JSON object")
    return value


def _require_member(file: str, value: object, key: str, expected_type: type, location: str) -> Any:
    """Return the value of a key of a JSON object if it has the expected type, else raise `SquadFormatError`."""
    mapping = _require_mapping(file, value, location)
    if key not in mapping:
        raise SquadFormatError(f"{file}, {location}: no key {key!r}; found {', '.join(mapping) or 'none'}")
    member = mapping[key]
    if not isinstance(member, expected_type) or isinstance(member, bool):
        names = {list: "a list", str: "text", int: "a whole number"}
        is_now = f"{key!r} is {_shorten_json(member)}"
        raise SquadFormatError(f"{file}, {location}: {is_now}; expected {names[expected_type]}")
    return member


def _shorten_json(value: object) -> str:
    """Return a value as JSON text of 60 characters at most, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
