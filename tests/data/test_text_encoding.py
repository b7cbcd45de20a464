"""Batches of texts for a model: every text once, as its tokenizer gives it, and more short ones than long ones."""

from __future__ import annotations

import random

import pytest

from ctxzoo.data import text_encoding
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
        for row, ids, mask, num_known, num_left_out in zip(rows, *batch.values(), known, left_out, strict=True):
            assert ids[mask > 0].tolist() == tokenizer(texts[row], truncation=True)["input_ids"]
            words = [word for word in texts[row].split() if word != "x"]
            assert (num_known, num_left_out) == (len(words[:30]), len(words[30:]))
        longest = max(known)
        assert len(rows) <= 2 * max(1, 12 // max(1, longest))
        sizes.add((longest, len(rows)))
    assert sorted(seen) == list(range(99))
    assert max(number for longest, number in sizes if longest > 12) == 2
    assert max(number for _, number in sizes) > 4
