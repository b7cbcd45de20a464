"""Texts as inputs of exported programs: random ones, and how those of a text are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from ctxzoo.export.task_export import Tensors, draw_ids, draw_mask
from ctxzoo.models.ops_subwords import MOST_SUBWORDS


def draw_text(model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
    """Return random texts for a model of words: `input_ids`, `attention_mask`, and `subword_ids` with an encoder.

    Where the model has ids of n-grams they are the second half of each text. A model without words gets numbers,
    `inputs_embeds`.
    """
    config = model.config
    mask = draw_mask(lengths)
    if not config.vocab_size:
        steps = torch.randn(*mask.shape, config.input_size, generator=generator)
        return {"inputs_embeds": steps * mask.unsqueeze(2), "attention_mask": mask}
    num_words = getattr(config, "num_words", config.vocab_size) - getattr(config, "ngram_buckets", 0)
    ids = draw_ids(1, num_words, mask, generator)
    if num_words < config.vocab_size:
        is_word = draw_mask([(length + 1) // 2 for length in lengths])
        is_word = nn.functional.pad(is_word, (0, mask.size(1) - is_word.size(1))).bool()
        ids = torch.where(is_word, ids, draw_ids(num_words, config.vocab_size, mask, generator))
    return {"input_ids": ids, "attention_mask": mask, **draw_subwords(config, mask, generator)}


def draw_subwords(config: Any, mask: torch.Tensor, generator: torch.Generator) -> Tensors:
    """Return random `subword_ids` (B, n, 16) of words for a model with an encoder; nothing for one without."""
    encoder = getattr(config, "encoder_config", None)
    if encoder is None:
        return {}
    counts = torch.randint(1, 4, (*mask.shape, 1), generator=generator)
    ids = torch.randint(1, encoder.vocab_size + 1, (*mask.shape, MOST_SUBWORDS), generator=generator)
    return {"subword_ids": ids * (torch.arange(MOST_SUBWORDS) < counts) * mask.unsqueeze(2)}


def describe_words(tokenizer: Any, unknown: str) -> str:
    """Return how tokenizer.json cuts text into words; `unknown` says what becomes of words that are not in it."""
    changes = [
        what
        for what, is_done in (("lower-cased", tokenizer.lower_case), ("its digits become 0", tokenizer.fold_digits))
        if is_done
    ]
    said = f" ({' and '.join(changes)})" if changes else ""
    return (
        f"`tokenizer.json` (Hugging Face tokenizers) normalizes the text{said} and cuts it into words; a word has its "
        f"id in the vocabulary, {unknown}. No special tokens are added, and special tokens in a text are text."
    )


def describe_ngrams(tokenizer: Any, end: str) -> Iterable[str]:
    """Yield how the ids of n-grams are computed, where a tokenizer has them; `end` says how far words are read."""
    hashed = (
        "the 8 bytes of BLAKE2b (digest size 8) of its UTF-8 text, read as a little-endian number without sign, modulo"
    )
    if tokenizer.ngram_order > 1:
        yield (
            f"Behind the ids of words stand those of n-grams of 2 to {tokenizer.ngram_order} normalized words, unknown "
            f"ones too, {end}: first all pairs from left to right, then longer ones. The id of an n-gram, its words "
            f"joined by one blank, is {len(tokenizer):,} + h, where h is {hashed} {tokenizer.ngram_buckets:,}."
        )
    if tokenizer.char_ngrams is not None:
        low, high = tokenizer.char_ngrams
        own = tokenizer.char_ngram_buckets
        first = len(tokenizer) + (tokenizer.ngram_buckets if own else 0)
        yield (
            f"Then, word by word and unknown ones too, the n-grams of {low} to {high} characters of `<word>`: for each "
            f"first character those of every size, the shortest first; `<` and `>` alone are none. Their id is "
            f"{first:,} + h, with h {hashed} {own or tokenizer.ngram_buckets:,}."
        )


def describe_subwords(elsewhere: str) -> str:
    """Return how sub-words of words are computed; `elsewhere` says what has none."""
    return (
        "`subword_ids`: each word as written, with a blank in front where one stands before it in the text, through "
        f"`encoder_tokenizer.json` without special tokens; at most 16 ids, each plus 1, filled up with 0; {elsewhere}."
    )
