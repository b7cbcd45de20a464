"""N-grams of words as ids: hashed into buckets, and kept for the words and pairs of words that texts repeat."""

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b

WORD_BEGIN, WORD_END = "<", ">"  # fastText's marks of a word's boundaries
MOST_KEPT = 200_000  # most n-grams of words, and most words, whose ids are kept; so memory has a bound


class NgramIds:
    """The ids of n-grams of words, which are computed once for n-grams and words that texts repeat.

    Args:
        first_id: Id of the first bucket.
        buckets: Number of buckets that n-grams of words share, and those of characters without `char_buckets`.
        order: Number of words in the longest n-gram; 1: none.
        char_ngrams: Smallest and largest number of characters of a character n-gram; None: none.
        char_buckets: Number of buckets for character n-grams alone, behind the others; 0: they share those.
    """

    def __init__(
        self, first_id: int, buckets: int, order: int, char_ngrams: tuple[int, int] | None, char_buckets: int
    ) -> None:
        self.first_id, self.buckets, self.order = first_id, buckets, order
        self.char_ngrams = char_ngrams
        self.char_first_id = first_id + (buckets if char_buckets else 0)
        self.char_buckets = char_buckets or buckets
        self._of_ngrams: dict[str, int] = {}
        self._of_words: dict[str, array[int]] = {}

    def encode(self, words: Sequence[str]) -> "array[int]":
        """Return the ids of the n-grams of words, order by order, and of the characters of each word."""
        ids = array("i")
        for order in range(2, self.order + 1):
            following = [words[start:] for start in range(order)]
            ids.extend(map(self._hash_words, map(" ".join, zip(*following, strict=False))))
        if self.char_ngrams is not None:
            for word in words:
                ids += self._hash_characters(word)
        return ids

    def _hash_words(self, ngram: str) -> int:
        index = self._of_ngrams.get(ngram)
        if index is None:
            if len(self._of_ngrams) >= MOST_KEPT:
                self._of_ngrams = {}
            index = self._of_ngrams[ngram] = self.first_id + hash_ngram(ngram) % self.buckets
        return index

    def _hash_characters(self, word: str) -> "array[int]":
        ids = self._of_words.get(word)
        if ids is None:
            if len(self._of_words) >= MOST_KEPT:
                self._of_words = {}
            assert self.char_ngrams is not None
            ngrams = generate_character_ngrams(word, *self.char_ngrams)
            hashes = [self.char_first_id + hash_ngram(ngram) % self.char_buckets for ngram in ngrams]
            ids = self._of_words[word] = array("i", hashes)
        return ids


def hash_ngram(ngram: str) -> int:
    """Hash an n-gram to a number, the same in every process: BLAKE2b of its UTF-8 bytes, 8 bytes little-endian."""
    return int.from_bytes(blake2b(ngram.encode("utf-8"), digest_size=8).digest(), "little")


def generate_character_ngrams(word: str, low: int, high: int) -> Iterator[str]:
    """Yield the n-grams of `low` to `high` characters of "<word>", from left to right, as fastText: no mark alone."""
    marked = f"{WORD_BEGIN}{word}{WORD_END}"
    for start in range(len(marked)):
        for length in range(low, min(high, len(marked) - start) + 1):
            if length > 1 or 0 < start < len(marked) - 1:  # no mark alone
                yield marked[start : start + length]
