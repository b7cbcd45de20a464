"""SQuAD questions as arrays of word-type ids: cut into words once, kept on disk, read back by memory mapping.

A *type* is a distinct word as written. Everything a model is fed (word ids, characters, word features) is a property of
the type, so one preparation serves every vocabulary, every set of word vectors and every variant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer

from ctxzoo.data.files import build_cached_folder, default_cache_folder, hash_strings
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.text_encoding import TEXTS_AT_ONCE
from ctxzoo.models.tokenization_word_char import WORD_PATTERN, build_word_pre_tokenizer

if TYPE_CHECKING:
    import datasets

PREPARATION_VERSION = "1"
NO_ANSWER = -1

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class PreparedTexts:
    """Texts as words. Text t holds words `pointers[t] : pointers[t + 1]`.

    Attributes:
        types: (words,) number of the word type of each word, of all texts in a row.
        offsets: (words, 2) character offsets of each word in its text: first character, and one after the last.
        pointers: (texts + 1,) index into `types`: the words of text i are those from pointers[i] up to pointers[i + 1].
    """

    types: IntArray
    offsets: IntArray
    pointers: npt.NDArray[np.int64]

    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of words of each text, shape (texts,)."""
        return np.diff(self.pointers)


@dataclass(frozen=True)
class PreparedSplit:
    """One split. Row r asks `questions` text r of `contexts` text `context_of[r]`.

    Attributes:
        contexts, questions: Contexts and questions as arrays of word types; a context that several questions share is
            stored once.
        context_of: (rows,) number of the context, in `contexts`, to which each question belongs.
        spans: (rows, 2) positions of the first and last word of the first answer, from 0; (-1, -1): no answer.
        exact: (rows,) boolean, whether the answer begins and ends at word boundaries; otherwise the span covers more
            than the answer.
    """

    contexts: PreparedTexts
    questions: PreparedTexts
    context_of: IntArray
    spans: IntArray
    exact: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.context_of)


@dataclass(frozen=True)
class PreparedSquad:
    """All splits of a dataset over one list of types.

    Attributes:
        words: Distinct words of the dataset, most frequent first; the index is the word type.
        counts: (types,) occurrences of each word type in contexts and questions, by split name.
        splits: Arrays of each split, by split name.
    """

    words: list[str]
    counts: dict[str, IntArray]
    splits: dict[str, PreparedSplit]


def prepare_squad(
    splits: Mapping[str, datasets.Dataset], fingerprints: Mapping[str, str], cache: Path | None = None
) -> PreparedSquad:
    """Split every context and question into words, find the answers' words, and cache the result by content hash.

    Args:
        splits: Dataset of each split, by split name, with SQuAD's columns id, context, question, answers.
        fingerprints: Hash of the content of each split, by split name; equal hashes share one cached preparation.
        cache: Folder in which the prepared arrays are cached; default: that of `default_cache_folder()`.

    Raises:
        ValueError: a question or context without any word, by split and id.
    """
    key = hash_strings(
        [PREPARATION_VERSION, WORD_PATTERN, *(f"{name}={fingerprints[name]}" for name in sorted(splits))]
    )
    folder = (cache or default_cache_folder()) / f"squad-{key}"
    return _read_preparation(build_cached_folder(folder, lambda temporary: _write_preparation(splits, temporary)))


def prepare_questions(rows: datasets.Dataset) -> tuple[list[str], PreparedSplit]:
    """Return the distinct words of some questions and their contexts, and these as arrays, without a cache.

    Args:
        rows: Rows with SQuAD's columns id, context, question, answers.

    Raises:
        ValueError: a question or context without any word, by id.
    """
    words, prepared = _prepare_splits({"train": rows})
    ((_, split, _),) = prepared
    return words, split


def _prepare_splits(
    splits: Mapping[str, datasets.Dataset],
) -> tuple[list[str], Iterator[tuple[str, PreparedSplit, IntArray]]]:
    """Return the distinct words of all splits, and for each split its name, its arrays and its (types,) counts."""
    columns = {name: _collect_columns(rows) for name, rows in splits.items()}
    trainer = WordLevelTrainer(vocab_size=2**31 - 1, min_frequency=0, special_tokens=[], show_progress=False)
    tokenizer = Tokenizer(WordLevel())
    tokenizer.pre_tokenizer = build_word_pre_tokenizer()
    texts = (text for name in sorted(columns) for text in (*columns[name].contexts, *columns[name].questions))
    tokenizer.train_from_iterator(texts, trainer)
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    words = sorted(vocabulary, key=vocabulary.__getitem__)

    def prepare() -> Iterator[tuple[str, PreparedSplit, IntArray]]:
        for name, split in columns.items():
            contexts = _tokenize_texts(tokenizer, split.contexts)
            questions = _tokenize_texts(tokenizer, split.questions)
            _refuse_texts_without_words(name, split, contexts, questions)
            spans, exact = _find_answer_spans(split, contexts)
            counts = sum(np.bincount(texts.types, minlength=len(words)) for texts in (contexts, questions))
            yield (
                name,
                PreparedSplit(contexts, questions, split.context_of, spans, exact),
                np.asarray(counts, np.int32),
            )

    return words, prepare()


def _write_preparation(splits: Mapping[str, datasets.Dataset], folder: Path) -> None:
    """Split the texts of all splits into words and write words, spans and counts to a folder as arrays."""
    words, prepared = _prepare_splits(splits)
    (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")
    for name, split, counts in prepared:
        arrays = {
            f"{kind}-{field}": getattr(getattr(split, kind), field)
            for kind in ("contexts", "questions")
            for field in ("types", "offsets", "pointers")
        }
        arrays |= {field: getattr(split, field) for field in ("context_of", "spans", "exact")}
        target = folder / f"split-{name}"
        target.mkdir()
        for field, array in {**arrays, "counts": counts}.items():
            np.save(target / f"{field}.npy", array, allow_pickle=False)


def _read_preparation(folder: Path) -> PreparedSquad:
    """Read what `_write_preparation` wrote to a folder; the arrays stay on disk as memory maps."""
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    counts: dict[str, IntArray] = {}
    splits: dict[str, PreparedSplit] = {}
    for path in sorted(folder.glob("split-*")):
        arrays = {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in path.glob("*.npy")}
        name = path.name.removeprefix("split-")
        texts = {
            kind: PreparedTexts(*(arrays[f"{kind}-{field}"] for field in ("types", "offsets", "pointers")))
            for kind in ("contexts", "questions")
        }
        counts[name] = arrays["counts"]
        splits[name] = PreparedSplit(
            texts["contexts"], texts["questions"], arrays["context_of"], arrays["spans"], arrays["exact"]
        )
    return PreparedSquad(words, counts, splits)


@dataclass(frozen=True)
class _Columns:
    ids: list[str]
    contexts: list[str]
    questions: list[str]
    context_of: IntArray
    answers: list[dict[str, Any]]


def _collect_columns(rows: datasets.Dataset) -> _Columns:
    """Return the columns of a split, each different context once."""
    index: dict[str, int] = {}
    context_of = np.fromiter(
        (index.setdefault(text, len(index)) for text in iterate_column(rows["context"])), np.int32, len(rows)
    )
    return _Columns(rows["id"][:], list(index), rows["question"][:], context_of, rows["answers"][:])


def _tokenize_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> PreparedTexts:
    """Split texts into words: the number of each word's type, its place in the text, and where each text begins."""
    types: list[IntArray] = []
    offsets: list[IntArray] = []
    lengths: list[int] = []
    for chunk in _split_into_chunks(texts):
        for encoding in tokenizer.encode_batch(chunk, add_special_tokens=False):
            lengths.append(len(encoding))
            types.append(np.array(encoding.ids, np.int32))
            offsets.append(np.array(encoding.offsets, np.int32).reshape(-1, 2))
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    if not types:
        return PreparedTexts(np.zeros(0, np.int32), np.zeros((0, 2), np.int32), pointers)
    return PreparedTexts(np.concatenate(types), np.concatenate(offsets), pointers)


def _split_into_chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of `TEXTS_AT_ONCE`."""
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        yield list(texts[start : start + TEXTS_AT_ONCE])


def _refuse_texts_without_words(name: str, split: _Columns, contexts: PreparedTexts, questions: PreparedTexts) -> None:
    """Raise `ValueError` for the first question or context without a word; `name` is its split."""
    no_words = (questions.lengths() == 0) | (contexts.lengths()[split.context_of] == 0)
    if no_words.any():
        row = int(np.argmax(no_words))
        what = "question" if questions.lengths()[row] == 0 else "context"
        raise ValueError(f"split {name!r}, row {row}, id {split.ids[row]!r}: the {what} has no words; remove the row")


def _find_answer_spans(split: _Columns, contexts: PreparedTexts) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the first and last word of each row's first answer (rows, 2), and whether the answer begins and ends with
    them (rows,).
    """
    spans = np.full((len(split.ids), 2), NO_ANSWER, np.int32)
    exact = np.ones(len(split.ids), np.bool_)
    for row, (text, answers) in enumerate(zip(split.context_of, split.answers, strict=True)):
        if not answers["text"]:
            continue
        begin = answers["answer_start"][0]
        end = begin + len(answers["text"][0])
        offsets = contexts.offsets[contexts.pointers[text] : contexts.pointers[text + 1]]
        first = int(np.searchsorted(offsets[:, 1], begin, side="right"))  # the first word that ends after `begin`
        last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1  # the last word that begins before `end`
        first = min(first, len(offsets) - 1)
        last = max(first, last)
        spans[row] = first, last
        exact[row] = offsets[first, 0] == begin and offsets[last, 1] == end
    return spans, exact
