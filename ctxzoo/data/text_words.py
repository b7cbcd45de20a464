"""Counts of the words in texts, as a cutter (pre-tokenizer) cuts them: of each word, and of each text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.trainers import WordLevelTrainer

from ctxzoo.data.text_encoding import TEXTS_AT_ONCE
from ctxzoo.models.tokenization_base import PAD_TOKEN


def frequent_words_of_texts(cutter: Tokenizer, texts: list[str], min_count: int) -> list[str]:
    """Return the words that occur at least `min_count` times, most frequent first, ties in alphabetical order.

    Args:
        cutter: a pre-tokenizer, a `word_cutter`; it has these words afterwards.
        texts: where they are counted.
        min_count: 1 or more.
    """
    trainer = WordLevelTrainer(vocab_size=2**31 - 1, min_frequency=min_count, special_tokens=[], show_progress=False)
    cutter.train_from_iterator(texts, trainer)
    vocabulary: dict[str, int] = cutter.get_vocab()
    vocabulary.pop(PAD_TOKEN, None)  # written in a text it is no word
    return sorted(vocabulary, key=vocabulary.__getitem__)


def count_words(cutter: Tokenizer, texts: list[str]) -> npt.NDArray[np.int64]:
    """Return (texts,) the number of words of each text, known or not.

    Args:
        cutter: the pre-tokenizer, a `word_cutter` or the backend of a `WordTokenizer`.
        texts: where they are counted.
    """
    cutter.encode_special_tokens = True  # otherwise "[PAD]" inside a word would be cut out of it
    counts = [
        len(encoding)
        for start in range(0, len(texts), TEXTS_AT_ONCE)
        for encoding in cutter.encode_batch_fast(texts[start : start + TEXTS_AT_ONCE], add_special_tokens=False)
    ]
    return np.array(counts, np.int64)
