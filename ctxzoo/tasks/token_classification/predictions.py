"""Tags that a saved tagger gives to the words of texts."""

from __future__ import annotations

from typing import Any

from transformers import TokenClassificationPipeline


def tag_texts(
    tagger: TokenClassificationPipeline, texts: list[str], *, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """Return for each text in order `word` as it is written, its most probable `tag` and the probability `score`.

    Words are what white space sets apart.
    """
    found = tagger(texts, batch_size=batch_size, ignore_labels=[])  # by default it keeps the tag "O" to itself
    return [
        [
            {"word": text[word["start"] : word["end"]], "tag": word["entity"], "score": float(word["score"])}
            for word in words
        ]
        for text, words in zip(texts, found, strict=True)
    ]
