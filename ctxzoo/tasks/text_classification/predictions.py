"""Labels that a saved classifier gives to texts."""

from __future__ import annotations

from typing import Any

from transformers import TextClassificationPipeline

from ctxzoo.models.tokenization_word import WordTokenizer


def classify_texts(
    classifier: TextClassificationPipeline, texts: list[str], *, batch_size: int = 32
) -> list[dict[str, Any]]:
    """Return the most probable `label` of each text and its probability `score`, in their order.

    Texts are cut at the `word_limit` of the tokenizer, where it has one; those that are longer also have
    `words_left_out`, the number of known words behind it.
    """
    limited = classifier.tokenizer.word_limit is not None
    predictions: list[dict[str, Any]] = classifier(texts, batch_size=batch_size, truncation=limited)
    for prediction, number in zip(predictions, words_left_out(classifier.tokenizer, texts), strict=True):
        if number:
            prediction["words_left_out"] = number
    return predictions


def words_left_out(tokenizer: WordTokenizer, texts: list[str]) -> list[int]:
    """Count the known words of each text behind the limit of the tokenizer, which its model does not read."""
    if tokenizer.word_limit is None:
        return [0] * len(texts)
    found: list[int] = tokenizer(texts, truncation=True, return_overflowing_tokens=True)["num_truncated_tokens"]
    return found


def left_out_note(tokenizer: WordTokenizer, texts: list[str]) -> str | None:
    """Write a note on texts that are longer than the limit of the tokenizer; None where none is."""
    numbers = [number for number in words_left_out(tokenizer, texts) if number]
    if not numbers:
        return None
    return (
        f"the model reads the first {tokenizer.word_limit:,} words that it knows: {sum(numbers):,} behind them were "
        f"left out, in {len(numbers):,} of {len(texts):,} texts"
    )
