"""Words that a saved model puts for a mask."""

from __future__ import annotations

from typing import Any

from transformers import FillMaskPipeline

WORDS_SHOWN = 5


def fill_masks(filler: FillMaskPipeline, texts: list[str], *, batch_size: int = 32) -> list[list[dict[str, Any]]]:
    """Return the most probable words for the one mask of each text, `word` and probability `score`, the best first.

    Raises:
        ValueError: a text with no mask, or with several.
    """
    mask = filler.tokenizer.mask_token
    for text in texts:
        if text.count(mask) != 1:
            raise ValueError(f"{text[:80]!r} has {text.count(mask)} {mask}; expected one, for the word to predict")
    found = filler(texts, top_k=WORDS_SHOWN, batch_size=batch_size)
    rows = [found] if len(texts) == 1 else found
    return [[{"word": each["token_str"], "score": each["score"]} for each in row] for row in rows]
