"""Texts as words and as ids: counts of words, encoded texts, and batches of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from tokenizers.trainers import WordLevelTrainer
from torch.utils.data import Dataset
from transformers import TokenizersBackend

from ctxzoo.data.formats import Rows
from ctxzoo.models.ops_subwords import NO_SUBWORDS
from ctxzoo.models.ops_words import ROWS_ALIKE
from ctxzoo.models.tokenization_base import PAD_TOKEN, SUBWORDS
from ctxzoo.models.tokenization_word import WordTokenizer

# Characters of scripts that set no blanks between words, and their signs: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
TEXTS_AT_ONCE = 4096  # texts that are cut or encoded in one call; bounds the memory of the Python lists it gives
TEXTS_AHEAD = 512  # texts that are encoded while a model reads those before
FULL_LENGTH = 512  # words from which on a batch of texts to predict holds `batch_size` of them; of shorter ones more


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as ids. Text t has `ids[pointers[t] : pointers[t + 1]]`.

    Attributes:
        ids: Ids of all texts, one after another: of words and n-grams, or of another tokenizer's tokens with its
            special ones.
        pointers: (texts + 1,) offsets into `ids`: text i has those from pointers[i] up to pointers[i + 1].
        truncated: (texts,) booleans, True where known words or tokens were cut off at the maximum length.
        subwords: (all ids,) row of each id in `subword_table`; None: no encoder reads the words.
        subword_table: (rows, `MOST_SUBWORDS`) sub-words as `ZooTokenizer` gives them, row 0 without any; None: none.
    """

    ids: npt.NDArray[np.int32]
    pointers: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    subwords: npt.NDArray[np.int32] | None = None
    subword_table: npt.NDArray[np.int32] | None = None

    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of ids of each text, shape (texts,)."""
        return np.diff(self.pointers)


def check_tokenizer(tokenizer: TokenizersBackend, max_length: int | None) -> None:
    """Raise ValueError for a tokenizer that cannot encode texts cut to `max_length` in batches.

    Raises:
        ValueError: it is not a fast one, cannot pad, or its model does not read so many tokens; or `max_length` leaves
            no room beside its special tokens.
    """
    name = type(tokenizer).__name__
    if not isinstance(tokenizer, TokenizersBackend):
        raise ValueError(
            f"the tokenizer is a {name}; expected a fast tokenizer, as AutoTokenizer gives for most models"
        )
    if tokenizer.pad_token_id is None:
        raise ValueError(f"the {name} has no pad token; set its pad_token, for example to its eos_token")
    if max_length is None or isinstance(tokenizer, WordTokenizer):
        return
    special = tokenizer.num_special_tokens_to_add()
    if not special < max_length <= tokenizer.model_max_length:
        raise ValueError(
            f"max_length is {max_length}; the {name} adds {special} special tokens, and its model reads up to "
            f"{tokenizer.model_max_length}: choose a length between"
        )


def encode_texts(
    tokenizer: TokenizersBackend,
    texts: list[str] | list[list[str]],
    max_length: int | None,
    *,
    is_split_into_words: bool = False,
) -> EncodedTexts:
    """Return texts as ids of words or tokens, cut to `max_length` if that is given.

    `is_split_into_words`: texts are lists of words.
    """
    rows: list[npt.NDArray[np.int32]] = []
    cut_off: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
    subwords: list[npt.NDArray[np.int32]] = []
    table: dict[tuple[int, ...], int] = {NO_SUBWORDS: 0}
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        chunk = _encode_chunk(tokenizer, texts[start : start + TEXTS_AT_ONCE], max_length, is_split_into_words, table)
        rows += chunk[0]
        cut_off.append(chunk[1])
        subwords += chunk[2]
    return _join_texts(rows, np.concatenate(cut_off), subwords, table)


def _encode_chunk(
    tokenizer: TokenizersBackend,
    texts: Sequence[str] | Sequence[list[str]],
    max_length: int | None,
    is_split_into_words: bool,
    table: dict[tuple[int, ...], int],
) -> tuple[list[npt.NDArray[np.int32]], npt.NDArray[np.int64], list[npt.NDArray[np.int32]]]:
    """Return the ids of each text, (texts,) how many ids or parts of it were cut off, and its rows of `table`.

    `table` is from sub-words to their row; new ones are added. Where no encoder reads the words there are no such rows.
    """
    has_encoder = getattr(tokenizer, "encoder_tokenizer", None) is not None
    if isinstance(tokenizer, WordTokenizer) and not is_split_into_words and not has_encoder:
        arrays, num_cut_off = tokenizer.encode_to_arrays(texts, max_length)  # type: ignore[arg-type]
        return [np.asarray(row, np.int32) for row in arrays], np.array(num_cut_off, np.int64), []
    encoding = tokenizer(
        list(texts),
        truncation=max_length is not None,
        max_length=max_length,
        return_attention_mask=False,
        return_overflowing_tokens=True,
        is_split_into_words=is_split_into_words,
    )
    rows = [np.array(row, np.int32) for row in encoding["input_ids"]]
    if "num_truncated_tokens" in encoding:  # a WordTokenizer
        subwords = [
            np.array([table.setdefault(of_word, len(table)) for of_word in row], np.int32)
            for row in encoding.get(SUBWORDS, [])
        ]
        return rows, np.array(encoding["num_truncated_tokens"], np.int64), subwords
    # Other fast tokenizers give what they cut off in further rows of the same text.
    _, firsts, counts = np.unique(encoding["overflow_to_sample_mapping"], return_index=True, return_counts=True)
    return [rows[first] for first in firsts], counts - 1, []


def _join_texts(
    rows: list[npt.NDArray[np.int32]],
    cut_off: npt.NDArray[np.int64],
    subwords: list[npt.NDArray[np.int32]],
    table: dict[tuple[int, ...], int],
) -> EncodedTexts:
    """Return texts one after another, from what `_encode_chunk` returns."""
    nothing = np.zeros(0, np.int32)
    pointers = np.concatenate([[0], np.cumsum(list(map(len, rows)), dtype=np.int64)])
    encoded = EncodedTexts(np.concatenate([nothing, *rows]), pointers, cut_off > 0)
    if not subwords:
        return encoded
    return replace(encoded, subwords=np.concatenate(subwords), subword_table=np.array([*table], np.int32))


def generate_text_batches(
    tokenizer: WordTokenizer, texts: Sequence[str], batch_size: int
) -> Iterator[tuple[list[int], dict[str, npt.NDArray[np.int64]], tuple[list[int], list[int]]]]:
    """Yield texts in batches for a model, cut at the `word_limit` of the tokenizer.

    A thread encodes the next texts while the caller's model reads these. Batches are such that what a text gets does
    not depend on its neighbours, to the last bit: see `group_alike`; rows of filling are behind those of the texts.

    Args:
        tokenizer: Tokenizer of the model.
        texts: Texts to read.
        batch_size: Number of texts in a batch; of texts of fewer than `FULL_LENGTH` words as many more as they are
            shorter.

    Yields:
        The places of the batch's texts among all, its `pad_text_batch` with rows of filling behind it, and how many
        known words the model reads of each text, and how many are left out.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:

        def encode(start: int) -> Any:
            table = {NO_SUBWORDS: 0}
            chunk = texts[start : start + TEXTS_AHEAD]
            return thread.submit(_encode_chunk, tokenizer, chunk, tokenizer.word_limit, False, table), table

        following = encode(0) if texts else None
        for start in range(0, len(texts), TEXTS_AHEAD):
            assert following is not None
            ids, left_out, subwords = following[0].result()
            encoded = _join_texts(ids, left_out, subwords, following[1])
            following = encode(start + TEXTS_AHEAD) if start + TEXTS_AHEAD < len(texts) else None
            known = np.diff(np.cumsum(np.append(0, encoded.ids < len(tokenizer)))[encoded.pointers])
            # Texts of nearly the same length share a batch, so that little is padded; the longest begin.
            order = np.lexsort((encoded.lengths(), known))[::-1]
            for rows, words in group_alike(order, known, lambda words: batch_size * max(1, FULL_LENGTH // words)):
                batch = pad_text_batch(encoded, rows, tokenizer.pad_token_id)
                if encoded.subwords is None:
                    batch = _fill_text_batch(batch, words)
                yield (rows + start).tolist(), batch, (known[rows].tolist(), left_out[rows].tolist())


def group_alike(order: Rows, lengths: Rows, get_most: Callable[[int], int]) -> Iterator[tuple[Rows, int]]:
    """Yield rows to predict in batches in which each is padded to a length that follows from its own alone.

    Sums over a padded row are rounded as its length has it, and products of matrices with few rows, or with rows left
    over, otherwise than those of many. So a caller pads every batch to the length that it is told and fills it with
    rows of that length, one or more (`count_filling_rows`); then what is computed for a row is the same bit for bit
    in whatever company it is read, on one thread of a CPU.

    Args:
        order: Rows in the order in which they are read, the longest first.
        lengths: Length of every row; (n,).
        get_most: Function from the longest length of a batch, 1 or more, to the number of its rows at most.

    Yields:
        Rows of a batch, and the length to which they are padded: a multiple of 8, above 64 of an eighth to a quarter
        of the length.
    """
    while len(order):
        length = max(1, int(lengths[order[0]]))
        step = max(8, 2 ** ((length - 1).bit_length() - 3))
        padded = -(-length // step) * step
        alike = int((lengths[order] > padded - step).sum()) if padded > step else len(order)
        number = min(get_most(length), alike)
        yield order[:number], padded
        order = order[number:]


def count_filling_rows(rows: int) -> int:
    """Return how many rows of filling, one or more, make a batch of a multiple of `ROWS_ALIKE`."""
    return ROWS_ALIKE - rows % ROWS_ALIKE


def _fill_text_batch(batch: dict[str, npt.NDArray[np.int64]], words: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return a `pad_text_batch` with rows of filling behind it, each of so many words."""
    ids = batch["input_ids"]
    filling = np.zeros((count_filling_rows(len(ids)), max(words, ids.shape[1])), np.int64)
    filling[:, :words] = 1  # any word, and a mask
    wider = ((0, 0), (0, filling.shape[1] - ids.shape[1]))
    return {name: np.concatenate([np.pad(array, wider), filling]) for name, array in batch.items()}


def pad_text_batch(texts: EncodedTexts, rows: Rows, pad_id: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return `input_ids` and `attention_mask`, (B, n) each, of the texts numbered `rows`, padded to the longest.

    Where an encoder reads the words also `subword_ids`, (B, n, s), s as the word with the most sub-words needs it.
    """
    ids = pad_rows(texts.ids, texts.pointers, rows, pad_id)
    # The mask does not follow from the ids: a tokenizer may pad with a token that texts hold too.
    mask = np.arange(ids.shape[1]) < texts.lengths()[rows][:, None]
    batch = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    if texts.subwords is None or texts.subword_table is None:
        return batch
    return {**batch, SUBWORDS: take_subwords(texts.subword_table, pad_rows(texts.subwords, texts.pointers, rows, 0))}


def take_subwords(table: npt.NDArray[np.int32], rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the rows (B, n) of a table of sub-words as (B, n, s), without columns that are 0 in all of them."""
    longest = max(1, int((table[np.unique(rows)] > 0).sum(axis=1).max()))
    subwords: npt.NDArray[np.int64] = table[:, :longest][rows].astype(np.int64)
    return subwords


def pad_rows(
    values: npt.NDArray[np.integer[Any]], pointers: npt.NDArray[np.int64], rows: Rows, padding: int
) -> npt.NDArray[np.int64]:
    """Return rows `values[pointers[r] : pointers[r + 1]]` of different length as one padded array (B, n)."""
    begins, ends = pointers[rows], pointers[rows + 1]
    # A model needs one position even where no text has a known word.
    padded = np.full((len(rows), max(1, int((ends - begins).max()))), padding, np.int64)
    for row, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        padded[row, : end - begin] = values[begin:end]
    return padded


class TextBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch of `input_ids`, `attention_mask`, `labels` and `row`.

    Args:
        texts: Encoded texts from which batches are made.
        labels: (texts,) classes.
        rows: (n,) numbers of the texts that this dataset has as its rows 0..n-1.
        pad_id: Id with which shorter texts of a batch are padded.
    """

    def __init__(self, texts: EncodedTexts, labels: npt.NDArray[np.int64], rows: Rows, pad_id: int) -> None:
        self.texts = texts
        self.labels = labels
        self.rows = rows
        self.pad_id = pad_id

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of ids of each row, shape (n,), for bucketing."""
        return self.texts.lengths()[self.rows]

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the batch of the texts with these numbers, as tensors: ids, mask, labels and row numbers."""
        rows = self.rows[np.asarray(numbers)]
        batch = {**pad_text_batch(self.texts, rows, self.pad_id), "labels": self._get_labels(rows), "row": rows}
        return {name: torch.from_numpy(array) for name, array in batch.items()}

    def _get_labels(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the labels of these rows."""
        return self.labels[rows]


def are_without_blanks(texts: Sequence[str]) -> bool:
    """Return whether most letters of the first texts, a thousand, are of scripts that set no blanks between words."""
    letters = [character for text in texts[:1000] for character in text if character.isalpha()]
    return 2 * sum(UNSPACED.match(character) is not None for character in letters) > len(letters)


def find_frequent_words(pre_tokenizer: Tokenizer, texts: list[str], min_count: int) -> list[str]:
    """Return the words that occur at least `min_count` times, most frequent first, ties in alphabetical order.

    Args:
        pre_tokenizer: Pre-tokenizer that splits texts into words; its vocabulary is set to the frequent words.
        texts: Texts in which words are counted.
        min_count: Smallest number of occurrences of a word, 1 or more.
    """
    trainer = WordLevelTrainer(vocab_size=2**31 - 1, min_frequency=min_count, special_tokens=[], show_progress=False)
    pre_tokenizer.train_from_iterator(texts, trainer)
    vocabulary: dict[str, int] = pre_tokenizer.get_vocab()
    vocabulary.pop(PAD_TOKEN, None)  # written in a text it is no word
    return sorted(vocabulary, key=vocabulary.__getitem__)


def count_words(pre_tokenizer: Tokenizer, texts: list[str]) -> npt.NDArray[np.int64]:
    """Return (texts,) the number of words of each text, known or not.

    Args:
        pre_tokenizer: Pre-tokenizer that splits texts into words: a `build_pre_tokenizer`, or the backend of a
            `WordTokenizer`.
        texts: Texts in which words are counted.
    """
    pre_tokenizer.encode_special_tokens = True  # otherwise "[PAD]" inside a word would be cut out of it
    counts = [
        len(encoding)
        for start in range(0, len(texts), TEXTS_AT_ONCE)
        for encoding in pre_tokenizer.encode_batch_fast(texts[start : start + TEXTS_AT_ONCE], add_special_tokens=False)
    ]
    return np.array(counts, np.int64)
