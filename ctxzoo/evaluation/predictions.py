"""Answers of a saved reader: to one question, or to those of a SQuAD JSON file in the official prediction format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from ctxzoo.data.squad_reader import SquadFormatError
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline


def load_reader(checkpoint: str) -> QuestionAnsweringPipeline:
    """The question-answering pipeline of a checkpoint folder or Hub id."""
    return QuestionAnsweringPipeline(
        model=AutoModelForQuestionAnswering.from_pretrained(checkpoint),
        tokenizer=AutoTokenizer.from_pretrained(checkpoint),
    )


def answer_questions(
    reader: QuestionAnsweringPipeline,
    questions: list[dict[str, str]],
    *,
    no_answer_threshold: float | None = None,
    batch_size: int = 32,
) -> tuple[dict[str, str], dict[str, float]]:
    """Answer every question.

    Args:
        reader: from `load_reader`.
        questions: id, question and context of each, from `read_questions`.
        no_answer_threshold: no-answer score above which the answer is the empty string; default: the model's.
        batch_size: windows that the model reads at once.

    Returns:
        Id to answer, "" for no answer, and id to no-answer score (0 to 1): the two files of the official SQuAD 2.0
        script, which looks for the best threshold only in answers that were given: for that, ask with threshold 1.
    """
    options = {} if no_answer_threshold is None else {"no_answer_threshold": no_answer_threshold}
    answers = reader(questions, batch_size=batch_size, **options)
    texts = {row["id"]: answer["answer"] for row, answer in zip(questions, answers, strict=True)}
    scores = {row["id"]: answer["no_answer_score"] for row, answer in zip(questions, answers, strict=True)}
    return texts, scores


def read_questions(file: Path) -> list[dict[str, str]]:
    """Id, question and context of every question of a SQuAD JSON file; answers are not needed.

    Raises:
        FileNotFoundError: no such file.
        SquadFormatError: not JSON, not of SQuAD's form, or an id twice; the message names the place.
    """
    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected a SQuAD JSON file")
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise SquadFormatError(f"{file} is not a JSON file: {error}") from error
    questions = list(_questions(str(file), content))
    seen: set[str] = set()
    for question in questions:
        if question["id"] in seen:
            raise SquadFormatError(f"{file}: two questions have the id {question['id']!r}; ids must differ")
        seen.add(question["id"])
    if not questions:
        raise SquadFormatError(f"{file} holds no question")
    return questions


def _questions(file: str, content: Any) -> Iterator[dict[str, str]]:
    for a, article in enumerate(_member(file, content, "data", list, "the file")):
        for p, paragraph in enumerate(_member(file, article, "paragraphs", list, f"data[{a}]")):
            place = f"data[{a}].paragraphs[{p}]"
            context = _member(file, paragraph, "context", str, place)
            for q, entry in enumerate(_member(file, paragraph, "qas", list, place)):
                fields = {name: _member(file, entry, name, str, f"{place}.qas[{q}]") for name in ("id", "question")}
                yield {**fields, "context": context}


def _member(file: str, value: Any, key: str, kind: type, place: str) -> Any:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        wanted = "a list" if kind is list else "text"
        raise SquadFormatError(f"{file}, {place}: expected an object whose {key!r} is {wanted}, as in SQuAD")
    return found
