"""A small file of training rows for every problem, as a person has it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.own_data import write_reviews, write_tags

THINGS = ("lamp", "chair", "phone", "radio", "kettle", "window", "river")


def reviews(folder: Path) -> Path:
    path = write_reviews(folder / "rows.csv", 40)
    again = [line.upper() for line in path.read_text().splitlines()[1:9]]
    labels = {"PRAISE": "praise", "COMPLAINT": "complaint"}
    lines = [f"{text},{labels[label]}" for text, label in (line.split(",") for line in again)]
    path.write_text(path.read_text() + "\n".join(lines) + "\n")
    return path


def tags(folder: Path) -> Path:
    path = write_tags(folder / "rows.conll", 60)
    path.write_text(path.read_text() + "\n" + path.read_text().partition("n9 O")[0] + "n9 O\n")
    return path


def questions(folder: Path) -> Path:
    data = []
    for title in range(6):
        for number in range(3):
            context = f"In {1900 + 3 * title + number}, the {THINGS[title]}ville {number} was founded."
            asked = [
                {
                    "id": f"{title}-{number}-{one}",
                    "question": f"When was it {one}?",
                    "answers": [{"text": context[3:7], "answer_start": 3}],
                }
                for one in range(2)
            ]
            data.append({"title": f"T{title}", "paragraphs": [{"context": context, "qas": asked}]})
    path = folder / "train.json"
    path.write_text(json.dumps({"version": "1.1", "data": data}))
    return path


def lines(folder: Path) -> Path:
    path = folder / "rows.txt"
    path.write_text("".join(f"the {THINGS[n % 7]} of {THINGS[n % 5]} saw a {THINGS[n % 3]}\n" for n in range(150)))
    return path


def table(folder: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return folder / "rows.csv"


def numbers(folder: Path) -> Path:
    return table(folder, ["a", "b", "y"], [[n % 25, n % 25 % 3, n / 2] for n in range(60)])


def events(folder: Path) -> Path:
    rows = [[user, THINGS[(user % 15 + step) % 7], 10 * step] for user in range(60) for step in range(2 + user % 4)]
    return table(folder, ["user", "item", "time"], rows)


def votes(folder: Path) -> Path:
    rows = [
        [
            f"member {one}",
            f"bill {bill}",
            ("yea", "nay")[(one + bill) % 2],
            f"on {THINGS[bill % 7]} and {THINGS[bill % 5]}",
        ]
        for bill in range(30)
        for one in range(6)
    ]
    return table(folder, ["legislator", "bill", "vote", "text"], rows)


def pieces(folder: Path) -> Path:
    path = folder / "rows.jsonl"
    rows = [{"notes": [[30 + (n % 20 + step) % 19, 50 + step % 5] for step in range(6)]} for n in range(50)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@dataclass(frozen=True)
class File:
    """How a file of one problem is written, and what its DataModule needs for so few rows."""

    write: Callable[[Path], Path]
    options: dict[str, Any] = field(default_factory=dict)


FILES = {
    "text-classification": File(reviews),
    "token-classification": File(tags),
    "question-answering": File(questions, {"min_word_count": 1}),
    "language-modelling": File(lines, {"batch_size": 2}),
    "regression": File(numbers),
    "session-recommendation": File(events),
    "next-event": File(events),
    "vote-prediction": File(votes),
    "polyphonic-music": File(pieces),
    "fill-mask": File(lines),
}
