"""The second use: what `train` read, `evaluate`, `predict` and `explain` read too, whatever shape the file has.

One small training of each problem, from a file as people have them: identifiers of digits with zeros in front, dates,
quotes, commas and accents in texts, numbers above a million. Then every other shape of the same rows must give the same
scores and answers, and the lines that the training prints must run as they are printed.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.main import main
from tests.support.file_shapes import TABLES, Row, write_shape
from tests.support.numbers import assert_alike

pytestmark = pytest.mark.slow

WORDS = ("lamp", "chair", "café", "radio", "kettle", "window", "river")


@dataclass(frozen=True)
class Problem:
    """How one problem is trained and used a second time.

    Attributes:
        name: What `ctxzoo train` calls it.
        rows: Makes the rows of the file.
        ask: Makes of a row what `predict` is asked.
        options: Arguments that say where in the rows what stands, for every command.
        evaluate_options: Further ones of `evaluate`.
        predict_options: Further ones of `predict`, so that it writes little.
        shapes: Those in which its readers take the rows; the first is the one of the training.
        write: Writes one of them.
    """

    name: str
    rows: Callable[[], list[dict[str, Any]]]
    ask: Callable[[Row], Row] = lambda row: row
    options: Sequence[str] = ()
    evaluate_options: Sequence[str] = ()
    predict_options: Sequence[str] = ()
    shapes: Sequence[str] = TABLES
    write: Callable[[str, Sequence[Row], Path], Path] = write_shape


def texts() -> list[dict[str, Any]]:
    return [
        {
            "ticket": f"{number:03d}",
            "body": f'the {WORDS[number % 7]}, "{("good", "bad")[number % 2]}" said: très {WORDS[number % 5]} {number}',
            "queue": ("001", "007")[number % 2],
        }
        for number in range(40)
    ]


def lines() -> list[dict[str, Any]]:
    return [
        {"text": f"the {WORDS[number % 7]} of {WORDS[number % 5]} saw a {WORDS[number % 3]} , it said"}
        for number in range(60)
    ]


def mask(row: Row) -> Row:
    return {"text": row["text"].replace("saw", "[MASK]")}


def events() -> list[dict[str, Any]]:
    return [
        {
            "customer": f"{user:04d}",
            "product": f"{10 * (1 + (user + step) % 6):03d}",
            "date": f"2026-03-{1 + step:02d} 08:{user:02d}:00",
        }
        for user in range(40)
        for step in range(2 + user % 4)
    ]


def houses() -> list[dict[str, Any]]:
    return [
        {
            "income": 900_000.0 + 35_000 * (number * 7 % 40),
            "rooms": float(number % 9),
            "price": 1.5e6 + 2e5 * (number % 9),
        }
        for number in range(40)
    ]


def votes() -> list[dict[str, Any]]:
    return [
        {
            "legislator": f"{member:03d}",
            "bill": f"{bill:02d}",
            "vote": ("Yea", "Nay")[(member + bill) % 2],
            "text": f"a bill on {WORDS[bill % 7]}, and the {WORDS[bill % 5]} of state",
        }
        for bill in range(30)
        for member in range(6)
    ]


def questions() -> list[dict[str, Any]]:
    rows = []
    for number in range(40):
        name, year = f"{WORDS[number % 7]}ville{number}", str(1900 + number)
        context = f"In {year}, the town of {name} was “founded” by the river."
        rows.append(
            {
                "id": str(1000 + number),
                "title": f"town {number // 2}",
                "context": context,
                "question": f"When was {name} founded?",
                "answers": {"text": [year], "answer_start": [3]},
            }
        )
    return rows


def tags() -> list[dict[str, Any]]:
    return [
        {
            "tokens": ["Anna", "&", "saw", "#", WORDS[number % 7], f"{number:03d}"],
            "pos_tags": ["NAME", "SIGN", "VERB", "SIGN", "NOUN", "007"],
        }
        for number in range(40)
    ]


def pieces() -> list[dict[str, Any]]:
    return [{"notes": [[30 + (number + step) % 9, 50 + step % 5] for step in range(12)]} for number in range(30)]


def write_questions(shape: str, rows: Sequence[Row], folder: Path) -> Path:
    if shape == "folder":
        return write_shape(shape, rows, folder)
    paragraphs = [
        {
            "context": row["context"],
            "qas": [
                {
                    "id": int(row["id"]) if shape == "numbers" else row["id"],
                    "question": row["question"],
                    "answers": [
                        {"text": text, "answer_start": start}
                        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
                    ],
                }
            ],
        }
        for row in rows
    ]
    data = [{"title": row["title"], "paragraphs": [part]} for row, part in zip(rows, paragraphs, strict=True)]
    path = folder / "rows.json"
    content = json.dumps({"version": "1.1", "data": data}, indent=2)
    content = content.replace("\n", "\r\n") if shape == "crlf" else content
    path.write_bytes(content.encode("utf-8-sig" if shape == "bom" else "utf-8"))
    return path


def write_tags(shape: str, rows: Sequence[Row], folder: Path) -> Path:
    if shape in ("jsonl", "parquet"):
        return write_shape(shape, rows, folder)
    separator, end = "\t" if shape == "tsv" else " ", "\r\n" if shape == "crlf" else "\n"
    blocks = [
        end.join(f"{word}{separator}{tag}" for word, tag in zip(row["tokens"], row["pos_tags"], strict=True))
        for row in rows
    ]
    content = (2 * end).join(blocks) + end
    place = folder / "rows" if shape == "folder" else folder
    place.mkdir(exist_ok=True)
    path = place / ("train.conll" if shape == "folder" else "rows.tsv" if shape == "tsv" else "rows.conll")
    path.write_bytes(content.encode("utf-8-sig" if shape == "bom" else "utf-8"))
    return place if shape == "folder" else path


def write_lines(shape: str, rows: Sequence[Row], folder: Path) -> Path:
    if shape not in ("txt", "txt_crlf", "txt_bom"):
        return write_shape(shape, rows, folder)
    end = "\r\n" if shape == "txt_crlf" else "\n"
    path = folder / "rows.txt"
    text = "".join(row["text"] + end for row in rows)
    path.write_bytes(text.encode("utf-8-sig" if shape == "txt_bom" else "utf-8"))
    return path


OF_EVENTS = ("--user_column", "customer", "--item_column", "product", "--time_column", "date")
COLUMN_SHAPES = tuple(shape for shape in TABLES if shape != "jsonl")
PROBLEMS = (
    Problem(
        "text-classification", texts, options=("--text_column", "body"), evaluate_options=("--label_column", "queue")
    ),
    Problem("regression", houses, evaluate_options=("--target_column", "price"), shapes=COLUMN_SHAPES),
    Problem("session-recommendation", events, options=OF_EVENTS, shapes=COLUMN_SHAPES),
    Problem("next-event", events, options=OF_EVENTS, shapes=COLUMN_SHAPES),
    Problem("vote-prediction", votes),
    Problem(
        "question-answering",
        questions,
        shapes=("json", "numbers", "crlf", "bom", "folder"),
        write=write_questions,
    ),
    Problem(
        "token-classification",
        tags,
        shapes=("conll", "tsv", "crlf", "bom", "jsonl", "parquet", "folder"),
        write=write_tags,
    ),
    Problem("polyphonic-music", pieces, predict_options=("--steps", "4"), shapes=("jsonl", "parquet", "folder")),
    Problem(
        "language-modelling",
        lines,
        predict_options=("--words", "2"),
        shapes=("txt", "txt_crlf", "txt_bom", "csv", "gz", "headless", "jsonl", "parquet", "folder"),
        write=write_lines,
    ),
    Problem("word-embeddings", lines, mask, shapes=("txt", "txt_crlf", "txt_bom", "folder"), write=write_lines),
)


class Used:
    """A checkpoint, the file that it was trained on, and what the commands say of them."""

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem, self.folder, self.rows = problem, folder, problem.rows()
        file = self.file(problem.shapes[0])
        options = (*problem.options, *problem.evaluate_options)
        runs = ("--output_dir", str(folder / "runs"), "--tiny", "--threads", "1", "--accelerator", "cpu")
        self.printed = self.run("train", problem.name, "--data", str(file), *options, *runs)
        self.checkpoint = re.findall(r"ctxzoo predict (\S+)", self.printed)[0]

    def file(self, shape: str, *, asked: bool = False) -> Path:
        """Write the rows, or what is asked of them, in a folder of their own."""
        folder = self.folder / f"{shape}-asked" if asked else self.folder / shape
        folder.mkdir(exist_ok=True)
        return self.problem.write(shape, [*map(self.problem.ask, self.rows)] if asked else self.rows, folder)

    def run(self, *arguments: str) -> str:
        """Run a command, and return what it printed; a refusal is an error here."""
        said, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(said), redirect_stderr(errors):
            status = main([*arguments])
        assert status == 0, errors.getvalue()
        return said.getvalue()

    def scores(self, file: Path, shape: str) -> dict[str, float]:
        """Return what `evaluate` says of the rows of a file."""
        out = file.parent / "scores.json"
        options = self.named(shape, (*self.problem.options, *self.problem.evaluate_options))
        split = ("--split", "test" if self.problem.name == "question-answering" and shape != "folder" else "train")
        self.run("evaluate", self.checkpoint, "--dataset", str(file), *split, "--output", str(out), *options)
        scores: dict[str, float] = json.loads(out.read_text())["metrics"]
        return scores

    def explanation(self, file: Path, shape: str) -> str:
        """Return the page on which words count in the texts of a file; nothing for another problem."""
        page = file.parent / "page.html"
        if self.problem.name != "text-classification":
            return ""
        options = self.named(shape, self.problem.options)
        self.run("predict", self.checkpoint, "--file", str(file), "--explain", str(page), *options)
        return page.read_text(encoding="utf-8")

    def answers(self, file: Path, shape: str) -> list[dict[str, Any]]:
        """Return what `predict` adds to the rows of a file."""
        out = file.parent / "answers.jsonl"
        options = [*self.named(shape, self.problem.options), *self.problem.predict_options]
        self.run("predict", self.checkpoint, "--file", str(file), "--output", str(out), *options)
        own = {*self.rows[0], "tags", "remark", *map(str, range(9))} - {"id"}
        found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        return [{key: value for key, value in row.items() if key not in own} for row in found]

    def named(self, shape: str, options: Sequence[str]) -> list[str]:
        """Return options whose columns are called as those of a shape: by their numbers where there is no header."""
        if shape != "headless":
            return [*options]
        columns = [*self.rows[0]]
        return ["--no_header", *(str(columns.index(word)) if word in columns else word for word in options)]


@pytest.fixture(scope="module", params=PROBLEMS, ids=lambda problem: problem.name)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Used:
    return Used(request.param, tmp_path_factory.mktemp(request.param.name))


def test_every_shape_of_a_file_gives_the_scores_and_answers_of_the_first(used: Used) -> None:
    expected, wrong = None, {}
    for shape in used.problem.shapes:
        try:
            file, asked = used.file(shape), used.file(shape, asked=True)
            found = used.scores(file, shape), used.answers(asked, shape), used.explanation(asked, shape)
            assert all(found[:2])
            expected = found if expected is None else expected
            assert_alike(found, expected, abs=0.002)  # batches change the last digits
        except AssertionError as error:
            wrong[shape] = str(error)[:600]
    assert wrong == {}


def test_the_lines_that_a_training_prints_run(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(used.folder)
    command = next(line for line in used.printed.splitlines() if line.strip().startswith("ctxzoo predict"))
    assert used.run(*shlex.split(command)[1:]).strip()
    snippet = used.printed.partition("or in Python:\n")[2]
    if snippet:
        said = io.StringIO()
        with redirect_stdout(said):
            exec("\n".join(line[4:] for line in snippet.splitlines() if line.startswith("    ")), {})
        assert said.getvalue().strip()
