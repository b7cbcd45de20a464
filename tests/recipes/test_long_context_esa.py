"""The recipe of generated tasks: what they ask, and a run of each."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes.long_context_esa import IGNORED, WORDS, draw_copy_sequences, draw_marked_products, draw_recall_sequences
from tests.support.recipe_here import recipe_here


def test_copies_ask_for_the_words_before_the_mark() -> None:
    ids, labels = draw_copy_sequences(5, 12, torch.Generator().manual_seed(0))
    assert ids.shape == (5, 11)
    assert torch.equal(labels[:, 6:], ids[:, :5])
    assert (ids[:, 5] == 1).all()
    assert (labels[:, :6] == IGNORED).all()


def test_recalls_ask_for_the_value_that_a_key_had() -> None:
    steps, labels = draw_recall_sequences(20, 24, torch.Generator().manual_seed(0))
    assert steps.shape == (20, 24, 2)
    for row, asked in zip(steps.tolist(), labels.tolist(), strict=True):
        values = dict(row[:12])
        assert sorted(key for key, _ in row[:12]) == sorted(2 * list(range(6)))
        assert all(values[key] == value and 1 <= value <= WORDS for key, value in row[:12])
        assert [value for _, value in row[12:]] == [0] * 12
        assert asked == [IGNORED] * 12 + [values[key] - 1 for key, _ in row[12:]]


def test_the_product_is_that_of_the_two_marked_signs() -> None:
    steps, labels = draw_marked_products(50, torch.Generator().manual_seed(0))
    for tokens, label in zip(steps, labels, strict=True):
        marked = tokens[tokens[:, 1] == 1, 0]
        assert len(marked) == 2
        assert (float(marked.prod()) > 0) == bool(label)


def test_a_tiny_run_leaves_a_results_file_of_each_task_and_attention(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", "--tiny", name="long_context_esa")
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert len(results) == 12
    assert {one.tag for one in results} == {"copy-n12", "recall-n12", "marked_product-n17"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--probes", "sort"), "probes: 'sort' is not one of copy, recall, marked_product"),
        (("--attentions", "lstm"), "attentions: 'lstm' is not one of "),
        (("--lengths", "4"), "lengths=4: expected 8 or more"),
        (("--dataset", "imdb"), "dataset='imdb': expected one of sample"),
    ],
)
def test_what_is_impossible_is_told_in_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, *options, name="long_context_esa")
    assert run.returncode == 1
    assert message in run.stderr
