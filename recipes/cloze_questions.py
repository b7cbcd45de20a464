"""Cloze questions from Wikipedia, to train a reader on before it sees real questions.

    python recipes/cloze_questions.py                               from ctxzoo-data/wikipedia_en_2015
    python recipes/squad_bidaf.py --dataset runs/cloze_questions --variant char7 --epochs 1
    python recipes/squad_bidaf.py --dataset ctxzoo-data/squad_v1_mini --init_from RUN/checkpoint

Writes SQuAD JSON files, one for each split of the text, into --output_dir; how the questions are made is told in
`ctxzoo.tasks.question_answering.cloze`. Articles that share eight words in a row with a context of the validation or
test split of --held_out are left out, so that no text of a test is read in training. A YAML file of settings may come
first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import datasets

from ctxzoo.data.files import atomic_folder, check_folder_is_writable
from ctxzoo.data.sources import get_column_values, load_splits
from ctxzoo.results.environment import format_command_line
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.question_answering.cloze import Article, drop_overlapping_articles, generate_cloze_questions
from ctxzoo.tasks.question_answering.reader import read_squad
from ctxzoo.training.arguments import COUNT, SEED, Args, number_field

HELD_OUT_SPLITS = ("validation", "test")


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is asked about.

    Args:
        dataset: Hub id or folder of articles, with columns title and text; rows of one article follow each other.
        held_out: Data of the later test questions, a Hub id or folder; articles that share text with it are left out.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        min_overlap: Least information, in nats, of the rare words that question sentence and context share.
        questions: Number of questions drawn for each split; 0: all are kept.
        seed: Seed of all random draws.
        output_dir: Folder into which the questions are written.
    """

    dataset: str = "ctxzoo-data/wikipedia_en_2015"
    held_out: str = "ctxzoo-data/squad_v1_mini"
    data_dir: str | None = None
    min_overlap: float = number_field(15.0, COUNT)
    questions: int = number_field(0, COUNT)
    seed: int = number_field(0, SEED)
    output_dir: str = "runs/cloze_questions"


def main(settings: Settings) -> None:
    """Write questions on the articles of each split into files in the form of SQuAD."""
    folder = Path(settings.output_dir)
    check_folder_is_writable(folder)
    tested = read_squad(settings.held_out, data_dir=settings.data_dir).splits
    contexts = {text for split in HELD_OUT_SPLITS if split in tested for text in tested[split]["context"]}
    texts = load_splits(settings.dataset, settings.data_dir)
    with atomic_folder(folder) as fresh:
        for split, rows in texts.items():
            articles, left_out = drop_overlapping_articles(read_articles(rows, split, settings.dataset), contexts)
            questions = list(generate_cloze_questions(articles, min_overlap=settings.min_overlap, seed=settings.seed))
            if not questions:
                raise ValueError(
                    f"dataset {settings.dataset!r}, split {split!r} gives no question: expected articles of several "
                    "paragraphs of 40 to 300 words; give other text, or a lower min_overlap"
                )
            sampled = sample_questions(questions, settings.questions, settings.seed)
            content = {"version": "1.1", "command": format_command_line(), "data": group_questions_by_article(sampled)}
            (fresh / f"{split}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            print(
                f"{split}: {len(sampled)} of {len(questions)} questions, {len(articles)} articles, {left_out} left out"
            )
    print(f"questions  {folder}")


def read_articles(rows: datasets.Dataset, split: str, dataset: str) -> list[Article]:
    """Return the articles of a split; each line of an article's text is a paragraph."""
    titles, texts = (get_column_values({split: rows}, split, name, dataset) for name in ("title", "text"))
    groups = groupby(zip(titles, texts, strict=True), key=lambda row: row[0])
    return [Article(title, tuple(line for _, text in group for line in text.splitlines())) for title, group in groups]


def sample_questions(questions: list[dict[str, Any]], number: int, seed: int) -> list[dict[str, Any]]:
    """Draw `number` of the questions at random, in their order; 0, or more than there are, returns all."""
    if not 0 < number < len(questions):
        return questions
    return [questions[row] for row in sorted(random.Random(seed).sample(range(len(questions)), number))]


def group_questions_by_article(questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions in SQuAD's official form: articles, their paragraphs, and questions on each."""
    articles = []
    for title, of_title in groupby(questions, key=lambda row: row["title"]):
        by_context: dict[str, list[dict[str, Any]]] = {}
        for row in of_title:
            texts, starts = row["answers"]["text"], row["answers"]["answer_start"]
            answers = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
            by_context.setdefault(row["context"], []).append(
                {"id": row["id"], "question": row["question"], "answers": answers}
            )
        paragraphs = [{"context": context, "qas": questions} for context, questions in by_context.items()]
        articles.append({"title": title, "paragraphs": paragraphs})
    return articles


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
