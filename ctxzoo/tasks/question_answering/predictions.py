"""Answers of a saved reader: to one question, or to those of a SQuAD JSON file in the official prediction format."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline
from ctxzoo.tasks.question_answering.squad_json import SquadFormatError, read_squad_json


def answer_questions(
    reader: QuestionAnsweringPipeline,
    questions: list[dict[str, str]],
    *,
    no_answer_threshold: float | None = None,
    batch_size: int = 32,
) -> tuple[dict[str, str], dict[str, float]]:
    """Answer every question.

    Args:
        reader: the pipeline of a checkpoint.
        questions: id, question and context of each, from `read_questions`.
        no_answer_threshold: no-answer score above which the answer is the empty string; default: the model's.
        batch_size: windows that the model reads at once.

    Returns:
        Id to answer, "" for no answer, and id to no-answer score (0 to 1): the two files of the official SQuAD 2.0
        script. The script looks for the best threshold only in answers that were given: for it, set the threshold to 1.
    """
    options = {} if no_answer_threshold is None else {"no_answer_threshold": no_answer_threshold}
    answers = reader(questions, batch_size=batch_size, **options)
    texts = {row["id"]: answer["answer"] for row, answer in zip(questions, answers, strict=True)}
    scores = {row["id"]: answer["no_answer_score"] for row, answer in zip(questions, answers, strict=True)}
    return texts, scores


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
