"""Batches of texts for a model: every text once, as its tokenizer gives it, and more short ones than long ones."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from ctxzoo.data import text_encoding
from ctxzoo.models.ops_words import ROWS_ALIKE
from ctxzoo.models.tokenization_word import build_word_tokenizer


@pytest.mark.parametrize("ngrams", [{}, {"ngram_buckets": 20, "ngram_order": 2, "char_ngrams": (2, 3)}])
def test_batches_hold_every_text_once_and_more_of_short_ones(
    ngrams: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_encoding, "TEXTS_AHEAD", 40)
    monkeypatch.setattr(text_encoding, "FULL_LENGTH", 12)
    tokenizer = build_word_tokenizer(["a", "b", "c"], model_max_length=30, **ngrams)
    generator = random.Random(0)
    texts = [" ".join(generator.choices("abcx", k=generator.choice([0, 1, 3, 6, 40]))) for _ in range(99)]
    seen, sizes = [], set()
    for rows, batch, (known, left_out) in text_encoding.generate_text_batches(tokenizer, texts, 2):
        seen += rows
        texts_of_batch = [array[: len(rows)] for array in batch.values()]
        for row, ids, mask, num_known, num_left_out in zip(rows, *texts_of_batch, known, left_out, strict=True):
            assert ids[mask > 0].tolist() == tokenizer(texts[row], truncation=True)["input_ids"]
            words = [word for word in texts[row].split() if word != "x"]
            assert (num_known, num_left_out) == (len(words[:30]), len(words[30:]))
        filling = batch["attention_mask"][len(rows) :]
        assert len(filling) > 0
        assert len(batch["input_ids"]) % ROWS_ALIKE == 0
        longest = max(known)
        assert set(filling.sum(axis=1)) == {-(-max(1, longest) // 8) * 8}  # whatever texts are in the batch
        assert len(rows) <= 2 * max(1, 12 // max(1, longest))
        sizes.add((longest, len(rows)))
    assert sorted(seen) == list(range(99))
    assert max(number for longest, number in sizes if longest > 12) == 2
    assert max(number for _, number in sizes) > 4


def test_a_length_alone_says_to_what_it_is_padded() -> None:
    lengths = np.array([0, 1, 8, 9, 64, 65, 80, 81, 128, 129, 200, 1000])
    expected = [8, 8, 8, 16, 64, 80, 80, 96, 128, 160, 224, 1024]
    for rows in (range(len(lengths)), range(0, len(lengths), 2), [3, 7, 10]):
        order = np.array(rows)[::-1]
        batches = list(text_encoding.group_alike(order, lengths, lambda _: 2))
        assert [row for batch, _ in batches for row in batch.tolist()] == order.tolist()
        assert {row: padded for batch, padded in batches for row in batch.tolist()} == {
            row: expected[row] for row in rows
        }
        assert max(len(batch) for batch, _ in batches) <= 2


@pytest.mark.parametrize("width", [4, 50, 100, 200, 512])
def test_as_few_rows_as_a_batch_has_are_multiplied_as_in_a_larger_one(width: int) -> None:
    """A processor on which this fails needs more rows; those with AVX-512 round 8 of them otherwise."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(0)
        rows = torch.randn(10 * ROWS_ALIKE, width)
        for outputs in (2, 3, 8, 50, 300, 1024):
            weight, bias = torch.randn(outputs, width), torch.randn(outputs)
            of_all = torch.nn.functional.linear(rows, weight, bias)
            for number in range(ROWS_ALIKE, len(rows), ROWS_ALIKE):
                assert torch.equal(torch.nn.functional.linear(rows[:number], weight, bias), of_all[:number])
    finally:
        torch.set_num_threads(threads)
