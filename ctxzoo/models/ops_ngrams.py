"""N-grams of words as ids: hashed into buckets, and kept for the words and pairs of words that texts repeat."""

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar

WORD_BEGIN, WORD_END = "<", ">"  # fastText's marks of a word's boundaries
MOST_KEPT = 200_000  # most n-grams of words, and most words, whose ids are kept; so memory has a bound
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class KeptValues(dict[Key, Value]):
    """Values of a function that are kept, at most `MOST_KEPT` of them: `map(kept.__getitem__, keys)` gives many.

    Args:
        compute: Function from a key to its value, which is called for keys that have none yet.
    """

    def __init__(self, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, key: Key) -> Value:
        if len(self) >= MOST_KEPT:
            self.clear()
        value = self[key] = self.compute(key)
        return value


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
        self._of_ngrams = KeptValues(self._hash_words)
        self._of_words = KeptValues(self._hash_characters)

    def encode(self, words: Sequence[str]) -> "array[int]":
        """Return the ids of the n-grams of words, order by order, and of the characters of each word."""
        ids = array("i")
        for order in range(2, self.order + 1):
            ids.extend(map(self._of_ngrams.__getitem__, zip(*(words[start:] for start in range(order)), strict=False)))
        if self.char_ngrams is not None:
            ids.frombytes(b"".join(map(self._of_words.__getitem__, words)))
        return ids

    def _hash_words(self, ngram: tuple[str, ...]) -> int:
        return self.first_id + hash_ngram(" ".join(ngram)) % self.buckets

    def _hash_characters(self, word: str) -> bytes:
        """Return the ids of the character n-grams of a word, as the bytes of an array of them."""
        assert self.char_ngrams is not None
        ngrams = generate_character_ngrams(word, *self.char_ngrams)
        hashes = [self.char_first_id + hash_ngram(ngram) % self.char_buckets for ngram in ngrams]
        return array("i", hashes).tobytes()


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
