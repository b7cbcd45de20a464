"""A service answers rows as `ctxzoo predict` does, byte for byte, in whatever company they come."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.cli.main import main
from ctxzoo.serving.asked_model import AskedModel
from ctxzoo.serving.joined_work import JoinedWork, ModelThread
from tests.hub.test_row_pipeline import INPUTS
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, write_tiny
from tests.support.tiny_rows import WRITERS
from tests.support.tiny_word_embedding import TEXT as MASKED
from tests.support.tiny_word_embedding import write_tiny as write_embeddings

PUBLISHED = REPOSITORY_ROOT / "model_cards"
WORDS = ["the", "a", "film", "was", "good", "bad", "plot", "of", "and", "not", "story", "people", "oil", "shares"]
LONGEST = 40  # words of a text


@pytest.fixture(autouse=True)
def _one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def ask_model(checkpoint: Path, **options: Any) -> AskedModel:
    card, saved = open_checkpoint(str(checkpoint))
    return AskedModel(card.name, *saved.load(), options)


def predict(checkpoint: Path, rows: Sequence[dict[str, Any]], *options: str) -> list[str]:
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main(["predict", str(checkpoint), "--file", "rows.jsonl", "--output", "out.jsonl", *options]) == 0
    return Path("out.jsonl").read_text(encoding="utf-8").splitlines()


def draw_rows(name: str, number: int) -> list[dict[str, Any]]:
    """Rows of different lengths for a published checkpoint."""
    draws = random.Random(0)
    texts = [" ".join(draws.choices(WORDS, k=draws.randint(1, LONGEST))) for _ in range(number)]
    if name == "hcrnn-citeulike":
        _, saved = open_checkpoint(str(PUBLISHED / name))
        items = list(saved.config.get_row_names())
        return [{"user": f"{row}", "items": draws.choices(items, k=draws.randint(1, 12))} for row in range(number)]
    return [{"bill" if name == "nipen-senate" else "id": f"{row:03}é", "text": text} for row, text in enumerate(texts)]


@pytest.mark.parametrize(
    "name",
    [
        "contextualizer-mr",
        "tagger-ewt",
        "nipen-senate",
        pytest.param("hcrnn-citeulike", marks=pytest.mark.slow),
        pytest.param("lama-reuters8", marks=pytest.mark.slow),
    ],
)
def test_requests_side_by_side_are_answered_as_a_file(name: str) -> None:
    rows = draw_rows(name, 40)
    expected, asked = predict(PUBLISHED / name, rows), ask_model(PUBLISHED / name)
    places, draws, parts = list(range(len(rows))), random.Random(1), []
    draws.shuffle(places)
    while places:
        number = draws.choice([1, 1, 2, 7])
        parts.append(places[:number])
        places = places[number:]
    sizes: list[int] = []
    assert asked.joined is not None
    work = asked.joined.work
    asked.joined.work = lambda entries: sizes.append(len(entries)) or work(entries)
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda part: asked.predict([rows[place] for place in part])[0], parts))
    assert {
        place: line for part, lines in zip(parts, answers, strict=True) for place, line in zip(part, lines, strict=True)
    } == dict(enumerate(expected))
    assert len(sizes) < len(parts)  # some were joined


@pytest.mark.parametrize("problem", WRITERS)
def test_each_problem_answers_a_request_as_a_file(problem: str, tmp_path: Path) -> None:
    checkpoint, (_, rows) = WRITERS[problem](tmp_path / "checkpoint"), INPUTS[problem]
    assert ask_model(checkpoint).predict(rows)[0] == predict(checkpoint, rows)


def test_one_question_or_mask_at_a_time_is_answered_as_by_predict_with_batches_of_one(tmp_path: Path) -> None:
    questions = [{"id": f"{row}", "question": QUESTION, "context": CONTEXT[: 60 + row]} for row in range(3)]
    masked = [{"text": MASKED}, {"text": f"{MASKED} {MASKED.replace('[MASK]', 'the')}"}]
    for checkpoint, rows in ((write_tiny(tmp_path / "a"), questions), (write_embeddings(tmp_path / "b"), masked)):
        asked = ask_model(checkpoint)
        assert [asked.predict([row])[0][0] for row in rows] == predict(checkpoint, rows, "--batch_size", "1")


def test_events_of_users_are_grouped_as_in_a_file(tmp_path: Path) -> None:
    checkpoint = WRITERS["session-recommendation"](tmp_path / "checkpoint")
    events = [
        {"who": user, "item": item, "time": time}
        for user, item, time in (("a", "cup", 2), ("b", "x", 1), ("a", "tea", 1))
    ]
    lines, notes = ask_model(checkpoint, user_column="who", top=2).predict(events)
    assert lines == predict(checkpoint, events, "--user_column", "who", "--top", "2")
    assert any("item that the model does not know" in note for note in notes)


def test_an_error_of_one_request_is_not_that_of_those_it_was_joined_with() -> None:
    begin, calls = threading.Event(), []

    def work(entries: Sequence[int]) -> list[int]:
        calls.append(list(entries))
        begin.wait(10)
        if 0 in entries:
            raise ValueError("0 has no inverse")
        return [60 // entry for entry in entries]

    joined = JoinedWork(work, ModelThread())
    with ThreadPoolExecutor(4) as clients:
        first = clients.submit(joined, [1])
        while not calls:
            pass
        others = [clients.submit(joined, entries) for entries in ([2, 3], [0], [4])]
        while joined._waiting.qsize() < 3:
            pass
        begin.set()
        assert first.result() == [60]
        assert [others[0].result(), others[2].result()] == [[30, 20], [15]]
        with pytest.raises(ValueError, match="no inverse"):
            others[1].result()
    assert calls[1] == [2, 3, 0, 4]


def test_joined_work_of_nothing_is_nothing() -> None:
    assert JoinedWork(lambda entries: 1 / 0, ModelThread())([]) == []
