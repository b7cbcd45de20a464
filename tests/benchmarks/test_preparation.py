"""Corpora of a wanted size, the extrapolation, and a quick run."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from benchmarks import preparation
from benchmarks.preparation import (
    COLD,
    SECOND,
    Size,
    count_questions_and_contexts,
    repeat_to_sizes,
    select_first_questions,
)
from benchmarks.reporting import read_rows
from ctxzoo.tasks.question_answering.reader import check_squad
from ctxzoo.tasks.question_answering.sample import build_squad_features


def corpus() -> dict[str, datasets.Dataset]:
    rows = []
    for context, answers in (
        ("Ann owns a red kite.", ["red", "Ann"]),
        ("Bob sold two boats.", ["two", "Bob", "boats"]),
    ):
        for number, answer in enumerate(answers):
            places = {"text": [answer], "answer_start": [context.index(answer)]}
            rows.append({"id": f"{context[0]}{number}", "title": "", "context": context, "question": "What?"})
            rows[-1]["answers"] = places  # type: ignore[assignment]
    return {"train": datasets.Dataset.from_list(rows, features=build_squad_features())}


def test_repeated_corpus_has_the_size_and_is_valid() -> None:
    sizes = {"train": Size(31, 7), "validation": Size(4, 3)}
    grown = repeat_to_sizes(corpus(), sizes)
    assert {name: count_questions_and_contexts({name: rows}) for name, rows in grown.items()} == sizes
    assert count_questions_and_contexts(grown) == Size(35, 10)
    check_squad(grown)  # answers are where they are said to be, ids differ


def test_first_questions_keeps_one_of_each_context() -> None:
    assert select_first_questions(corpus())["train"]["id"] == ["A0", "B0"]


def test_extrapolation_solves_for_start_context_and_question() -> None:
    def seconds(questions: int, contexts: int) -> dict[str, float]:
        value = 2.0 + 0.5 * contexts + 0.25 * questions
        stages = dict.fromkeys((*preparation.STAGES, "cpu_seconds"), value)
        return {**stages, "setup_seconds": 3 * value, "total_seconds": 3 * value + 1}

    splits = corpus()  # five questions on two contexts
    measured = {"whole": {COLD: seconds(5, 2)}, "first": {COLD: seconds(2, 2)}, "few": {COLD: seconds(0, 0)}}
    full = {"train": Size(100, 10), "validation": Size(20, 5)}
    found = preparation.build_extrapolated_row("x", splits, COLD, measured, full)
    assert found["reading_seconds"] == pytest.approx(2 + 0.5 * 15 + 0.25 * 120)
    assert found["setup_seconds"] == pytest.approx(3 * 39.5)
    assert found["total_seconds"] == pytest.approx(3 * 39.5 + 1)
    assert found["questions_per_second"] == pytest.approx(120 / (3 * 39.5))
    assert found["aim_seconds"] == 60


def test_quick_run_writes_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A start in this process: interpreters of its own would take most of the test's time.
    def here(corpus: Path, caches: Path) -> dict[str, float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CTXZOO_CACHE", str(caches))
            found = preparation.measure_start(str(corpus))
        assert list(caches.glob("squad-*"))
        return {**found, "total_seconds": found["setup_seconds"] + 1}

    monkeypatch.setattr(preparation, "measure_start_in_new_process", here)
    output = tmp_path / "quick.csv"
    preparation.main(["--quick", "--output", str(output)])
    rows = read_rows(output)
    assert [row["start"] for row in rows] == [COLD, SECOND] * 3
    assert [row["how"] for row in rows] == [*["measured"] * 2, *["extrapolated"] * 2, *["measured"] * 2]
    for row in rows:
        assert (row["questions"], row["contexts"]) == ("110", "25")
        stages = sum(float(row[name]) for name in preparation.STAGES)
        assert float(row["setup_seconds"]) == pytest.approx(stages, rel=0.005)  # the file has four digits
    assert [row["aim_seconds"] for row in rows] == ["", "", "60.0", "3.0", "60.0", "3.0"]
