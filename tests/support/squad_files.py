"""Generated questions as an official SQuAD 2.0 JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxzoo.tasks.question_answering.sample import sample_squad


def write_squad_file(file: Path, questions: int, *, answerable_only: bool = False) -> Path:
    """`questions` questions of the sample's test split; fewer where the unanswerable ones are left out."""
    articles: list[dict[str, Any]] = []
    for row in sample_squad(train=1, validation=1, test=questions)["test"]:
        answers = [
            {"text": text, "answer_start": start}
            for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
        ]
        if answerable_only and not answers:
            continue
        question = {"id": row["id"], "question": row["question"], "answers": answers, "is_impossible": not answers}
        articles.append({"title": row["title"], "paragraphs": [{"context": row["context"], "qas": [question]}]})
    file.write_text(json.dumps({"version": "1.1" if answerable_only else "v2.0", "data": articles}))
    return file


def squad_references(file: Path) -> list[dict[str, Any]]:
    """Id and answers of every question, as `SquadV2` takes them."""
    return [
        {"id": question["id"], "answers": question["answers"]}
        for article in json.loads(file.read_text())["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
