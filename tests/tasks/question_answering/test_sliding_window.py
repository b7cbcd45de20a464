from __future__ import annotations

import math
from pathlib import Path

import pytest

from ctxzoo.results.result import read_results
from ctxzoo.tasks.question_answering.sliding_window import SlidingWindow
from tests.support.recipe_here import recipe_here

TRAIN = ["the tower of the town", "the river of the town", "the river of the town", "the bridge"]


def test_weights_are_those_of_distinct_contexts() -> None:
    reader = SlidingWindow(TRAIN, common_words=0)
    assert reader.contexts == 3
    assert reader.compute_weight("the") == 0
    assert reader.compute_weight("town") == pytest.approx(math.log(4 / 3))
    assert reader.compute_weight("lamp") == pytest.approx(math.log(4))
    assert reader.compute_weight("?") == 0


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who built the tower?", "Ada Berg"),
        ("Who crossed the river?", "Ole Dahl"),
        ("What did Ada Berg build?", "built"),  # "tower" is farther from the words of the question
        ("", "tower"),  # of equal ones the first
    ],
)
def test_the_run_with_the_best_window_is_the_answer(question: str, answer: str) -> None:
    reader = SlidingWindow(TRAIN, common_words=2)
    assert reader.common == {"of", "the"}
    context = "The tower, built of the Ada Berg. " + "Of the, " * 6 + "Ole Dahl of the river."
    assert reader.answer(question, context) == answer


def test_common_words_of_equal_frequency_are_those_of_the_alphabet() -> None:
    assert SlidingWindow(["pear fig plum"], common_words=2).common == {"fig", "pear"}


@pytest.mark.parametrize("context", ["the of the", "...", "tower"])
def test_where_no_run_is_left_the_answer_is_empty(context: str) -> None:
    assert SlidingWindow(TRAIN, common_words=2).answer("Which tower?", context) == ""


def test_the_recipe_scores_it(tmp_path: Path) -> None:
    options = ("--dataset", "sample", "--processes", "1", "--progress", "false")
    run = recipe_here(tmp_path, *options, "--results_dir", str(tmp_path / "results"), name="squad_sliding_window")
    assert run.returncode == 0, run.stderr
    (result,) = read_results(tmp_path / "results")
    assert (result.architecture, result.variant) == ("counts", "sliding_window")
    assert 0 < result.metrics["test/exact"] < result.metrics["test/f1"] < 50
    assert result.metrics["test/total"] > 100
