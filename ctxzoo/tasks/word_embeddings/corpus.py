"""Running text as ids of its frequent words, on disk: what word vectors are trained on."""

from __future__ import annotations

import json
import mmap
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ctxzoo.data.files import build_cached_folder, default_cache_folder, hash_strings
from ctxzoo.models.tokenization_word import KeptPieces
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource

LONGEST_SENTENCE = 1000  # words of a sentence; what is longer is cut
WORDS_AT_ONCE = 1 << 18  # words in memory at once
IDS, POINTERS, WORDS = "ids.int32", "pointers.int64", "words.json"

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences without their unknown words.

    Attributes:
        folder: Folder of the arrays of word ids, which are memory-mapped.
        words: List of the V words of the vocabulary, by descending count, ties by first appearance; a vocabulary that
            was given keeps its order.
        counts: (V,) number of occurrences of each of the V words of the vocabulary.
        raw_words: Number of all words of the text, those outside the vocabulary included.
        fingerprint: Hash of the content of the text.
    """

    folder: Path
    words: list[str]
    counts: npt.NDArray[np.int64]
    raw_words: int
    fingerprint: str

    @cached_property
    def ids(self) -> Ids:
        """The known words of the text (all known words,) as rows of `words`, sentence after sentence."""
        return np.frombuffer(self._memory_maps[IDS], np.int32)

    @cached_property
    def pointers(self) -> npt.NDArray[np.int64]:
        """The bounds (sentences + 1,): sentence s is `ids[pointers[s] : pointers[s + 1]]`, 1 to 1,000 words."""
        return np.frombuffer(self._memory_maps[POINTERS], np.int64)

    def release_memory(self) -> None:
        """Release the memory of what was read; it is read from the files again where needed.

        Without that a pass would hold all of the text in the end, if only in pages that the system may take away.
        """
        for one in self._memory_maps.values():
            if hasattr(mmap, "MADV_DONTNEED"):
                one.madvise(mmap.MADV_DONTNEED)

    @cached_property
    def _memory_maps(self) -> dict[str, mmap.mmap]:
        """The files of word ids and of the sentences' beginnings, as memory maps by file name."""
        return {name: _memory_map_file(self.folder / name) for name in (IDS, POINTERS)}

    def __getstate__(self) -> dict[str, Any]:
        # Files are not pickled but mapped anew.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(self.pointers) - 1


def load_corpus(
    source: CorpusSource,
    pre_tokenizer: Tokenizer,
    *,
    min_count: int = 1,
    words: Sequence[str] | None = None,
    cache: Path | None = None,
) -> Corpus:
    """Convert a text to word ids and cache them on disk; a later call with the same arguments opens the cache.

    Windows are laid over what is written here, so unknown words leave no gap; nor do they in `WordTokenizer`.

    Args:
        source: Text to count, which is read line by line.
        pre_tokenizer: Pre-tokenizer that cuts lines into words, from `build_pre_tokenizer`.
        min_count: Least number of occurrences for a word to enter the vocabulary, 1 or more.
        words: Vocabulary in this order, whether the words occur or not; None: all words that occur `min_count` times.
        cache: Folder in which the counted text is cached; default: that of `default_cache_folder()`.

    Raises:
        OSError, ValueError: see `CorpusSource.lines`; an empty text; no word that occurs so often, or none of `words`.
    """
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}; expected 1 or more")
    fingerprint = source.fingerprint()
    word_list = [] if words is None else ["words", *words]
    key = hash_strings(["corpus 1", fingerprint, pre_tokenizer.to_str(), str(min_count), *word_list])
    folder = build_cached_folder(
        (cache or default_cache_folder()) / f"corpus-{key}",
        lambda temporary: _write_corpus(source, pre_tokenizer, min_count, words, temporary),
    )
    vocabulary = json.loads((folder / WORDS).read_text(encoding="utf-8"))
    return Corpus(
        folder, vocabulary["words"], np.array(vocabulary["counts"], np.int64), vocabulary["raw_words"], fingerprint
    )


def _write_corpus(
    source: CorpusSource, pre_tokenizer: Tokenizer, min_count: int, words: Sequence[str] | None, folder: Path
) -> None:
    """Write a corpus in two passes: one over the text for preliminary ids, one over these for the final ids."""
    rough, ends = folder / "rough", folder / "ends"
    id_of_word: dict[str, int] = {}
    raw_words = 0
    with rough.open("wb") as ids_file, ends.open("wb") as ends_file:
        for ids, line_ends in _number_words(source, pre_tokenizer, id_of_word):
            ids.tofile(ids_file)
            (raw_words + np.array(line_ends, np.int64)).tofile(ends_file)
            raw_words += len(ids)
    if not id_of_word:
        raise ValueError(f"the corpus {source.name!r} is empty; expected lines of text")
    counts = np.zeros(len(id_of_word), np.int64)
    for start in range(0, raw_words, WORDS_AT_ONCE):
        counts += np.bincount(_read_ids_from(rough, start), minlength=len(id_of_word))
    names = list(id_of_word)
    if words is None:
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] >= min_count]
        vocabulary = [names[row] for row in order]
    else:
        vocabulary = list(words)
        order = np.array([id_of_word.get(word, -1) for word in vocabulary], np.int64)
    final = np.full(len(id_of_word), -1, np.int32)
    present = np.flatnonzero(order >= 0)
    if not len(present):
        raise ValueError(
            f"no word of the corpus {source.name!r} occurs {min_count} times or more (the most frequent one "
            f"{counts.max()} times); lower min_count"
            if words is None
            else f"no word of the corpus {source.name!r} is one of the {len(vocabulary):,} given words"
        )
    final[order[present]] = present.astype(np.int32)
    _write_known_words(rough, ends, final, raw_words, folder)
    rough.unlink()
    ends.unlink()
    known = np.zeros(len(vocabulary), np.int64)
    known[present] = counts[order[present]]
    content = {"words": vocabulary, "counts": known.tolist(), "raw_words": raw_words}
    (folder / WORDS).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _number_words(
    source: CorpusSource, pre_tokenizer: Tokenizer, id_of_word: dict[str, int]
) -> Iterator[tuple[array[int], list[int]]]:
    """Yield preliminary ids of the words of some lines at a time, and where among them each line ends.

    `id_of_word` gets the id of each word, in the order of first appearance.
    """

    def number(words: list[str]) -> bytes:
        return array("i", [id_of_word.setdefault(word, len(id_of_word)) for word in words]).tobytes()

    pieces = KeptPieces(pre_tokenizer, number)
    ids, ends = array("i"), []
    for line in source.lines():
        ids.frombytes(b"".join(pieces.read(line)))
        ends.append(len(ids))
        if len(ids) >= WORDS_AT_ONCE:
            yield ids, ends
            ids, ends = array("i"), []
    if ends:
        yield ids, ends


def _write_known_words(
    rough_ids_file: Path, line_ends_file: Path, final_ids: Ids, raw_words: int, folder: Path
) -> None:
    """Write the files of ids and sentence bounds of a corpus from preliminary ids and the ends of its lines."""
    line_ends = np.frombuffer(_memory_map_file(line_ends_file), np.int64)
    before = 0  # known words up to here
    last = np.zeros(1, np.int64)  # pointer that was written
    with (folder / IDS).open("wb") as ids_file, (folder / POINTERS).open("wb") as pointers_file:
        last.tofile(pointers_file)
        for start in range(0, raw_words, WORDS_AT_ONCE):
            ids = final_ids[_read_ids_from(rough_ids_file, start)]
            num_known = np.concatenate([[0], np.cumsum(ids >= 0)])
            line_ends_here = line_ends[
                np.searchsorted(line_ends, start, "right") : np.searchsorted(line_ends, start + WORDS_AT_ONCE, "right")
            ]
            # Lines without a known word are no sentences.
            pointers = _split_long_sentences(
                np.unique(np.concatenate([last, before + num_known[line_ends_here - start]]))
            )
            pointers[1:].tofile(pointers_file)
            last = pointers[-1:]
            before += int(num_known[-1])
            ids[ids >= 0].tofile(ids_file)


def _split_long_sentences(pointers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the sentence bounds with sentences of more than 1,000 words split."""
    long = np.flatnonzero(np.diff(pointers) > LONGEST_SENTENCE)
    cuts = [np.arange(pointers[row] + LONGEST_SENTENCE, pointers[row + 1], LONGEST_SENTENCE) for row in long]
    return np.unique(np.concatenate([pointers, *cuts]))


def _read_ids_from(path: Path, start: int) -> Ids:
    """Return up to `WORDS_AT_ONCE` of the int32 of a file, from number `start` on."""
    return np.fromfile(path, np.int32, WORDS_AT_ONCE, offset=4 * start)


def _memory_map_file(path: Path) -> mmap.mmap:
    """Open a file as a read-only memory map."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
