"""The official SQuAD JSON form: articles, their paragraphs, and questions on each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from ctxzoo.data.sources import DatasetFileError
from ctxzoo.data.text_files import read_utf8

SquadVersion = Literal["1.1", "2.0"]


class SquadFormatError(ValueError):
    """The data is not SQuAD-shaped, or a row contradicts itself."""


def read_squad_json(file: Path, *, answers: bool = True) -> tuple[list[dict[str, Any]], SquadVersion | None]:
    """Return the questions of one file, and the version that the file names, if it does.

    Args:
        file: in the official form.
        answers: whether answers are needed; if not, they are not read.

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
    rows = list(_rows(str(file), content, answers))
    return rows, _declared_version(content.get("version"))


def read_questions(file: Path) -> list[dict[str, str]]:
    """Return id, question and context of every question of a SQuAD JSON file; answers are not needed.

    Raises:
        FileNotFoundError: no such file.
        DatasetFileError: not UTF-8 or not JSON.
        SquadFormatError: not of SQuAD's form, no question, an id twice, or a question or context without a word; the
            message names the question.
    """
    rows, _ = read_squad_json(file, answers=False)
    questions = [{name: row[name] for name in ("id", "question", "context")} for row in rows]
    seen: set[str] = set()
    for question in questions:
        if question["id"] in seen:
            raise SquadFormatError(f"{file}: two questions have the id {question['id']!r}; ids must differ")
        seen.add(question["id"])
        for name in ("question", "context"):
            if not question[name].strip():
                raise SquadFormatError(f"{file}: the {name} of id {question['id']!r} is empty; leave it out")
    if not questions:
        raise SquadFormatError(f"{file} holds no question")
    return questions


def _declared_version(value: object) -> SquadVersion | None:
    number = value.lower().lstrip("v") if isinstance(value, str) else ""
    if number.startswith("2"):
        return "2.0"
    return "1.1" if number.startswith("1.1") else None


def _rows(file: str, content: object, answers: bool) -> Iterator[dict[str, Any]]:
    row = 0
    for a, article in enumerate(_member(file, content, "data", list, "the file")):
        in_article = f"data[{a}]"
        title = (
            _member(file, article, "title", str, in_article) if "title" in _mapping(file, article, in_article) else ""
        )
        for p, paragraph in enumerate(_member(file, article, "paragraphs", list, in_article)):
            in_paragraph = f"{in_article}.paragraphs[{p}]"
            context = _member(file, paragraph, "context", str, in_paragraph)
            for q, question in enumerate(_member(file, paragraph, "qas", list, in_paragraph)):
                where = f"row {row}, {in_paragraph}.qas[{q}]"
                identifier = _member(file, question, "id", str, where)
                where = f"{where} (id {identifier!r})"
                fields = {"id": identifier, "question": _member(file, question, "question", str, where)}
                if answers:
                    fields["answers"] = _answers(file, question, where)
                yield {"title": title, "context": context, **fields}
                row += 1


def _answers(file: str, question: object, where: str) -> dict[str, list[Any]]:
    answers = _member(file, question, "answers", list, where)
    texts = [_member(file, answer, "text", str, f"{where}.answers[{i}]") for i, answer in enumerate(answers)]
    starts = [_member(file, answer, "answer_start", int, f"{where}.answers[{i}]") for i, answer in enumerate(answers)]
    if _mapping(file, question, where).get("is_impossible") is True and answers:
        raise SquadFormatError(f"{file}, {where}: is_impossible is true, but there are answers: {texts}")
    return {"text": texts, "answer_start": starts}


def _mapping(file: str, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SquadFormatError(f"{file}, {where}: {_short(value)}; expected a JSON object")
    return value


def _member(file: str, value: object, key: str, kind: type, where: str) -> Any:
    mapping = _mapping(file, value, where)
    if key not in mapping:
        raise SquadFormatError(f"{file}, {where}: no key {key!r}; found {', '.join(mapping) or 'none'}")
    found = mapping[key]
    if not isinstance(found, kind) or isinstance(found, bool):
        names = {list: "a list", str: "text", int: "a whole number"}
        raise SquadFormatError(f"{file}, {where}: {key!r} is {_short(found)}; expected {names[kind]}")
    return found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
