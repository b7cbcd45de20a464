"""How well words are predicted from those around them: the full softmax, on text that was not trained on."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import WordTokenizer

PIECE_WORDS = 200  # words of a piece of text that is scored at once


@torch.no_grad()
def word_prediction_scores(
    model: WordEmbeddingForMaskedLM, tokenizer: WordTokenizer, lines: Iterable[str], *, words: int
) -> dict[str, float]:
    """Return `nll` in nats and `perplexity`, over about the first `words` known words of the lines.

    Every word is predicted from those around it in its line; a line's only known word is not counted.

    Raises:
        ValueError: no line has two known words.
    """
    total, count = 0.0, 0
    for line in lines:
        ids = tokenizer(line, truncation=True, max_length=PIECE_WORDS, return_tensors="pt")["input_ids"].long()
        number = ids.numel()
        if number > 1:
            total += float(model(input_ids=ids, labels=ids).loss) * number
            count += number
        if count >= words:
            break
    if not count:
        raise ValueError("no line of the test text has two known words; give other text or train on more")
    return {"nll": total / count, "perplexity": math.exp(min(total / count, 700.0))}
