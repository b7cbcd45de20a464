"""Rows of a prepared SQuAD split as model inputs, by tables of what a model is fed for each word type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.text_encoding import take_subwords
from ctxzoo.models.ops_bidaf_words import NUM_WORD_SHAPES, classify_word_shape, stem_word
from ctxzoo.models.ops_subwords import NO_SUBWORDS
from ctxzoo.models.tokenization_word_char import WordCharTokenizer
from ctxzoo.tasks.question_answering.preparation import PreparedSplit, PreparedTexts


@dataclass(frozen=True)
class TypeTables:
    """Rows 0..types-1 belong to the types; row `extra_row` to the extra token, the last row `padding_row` to padding.

    Attributes:
        word_ids: (types + 2,) row in the word embedding table of each word type, the extra token and padding.
        char_ids: (types + 2, L) ids of the first L characters of each word type, the extra token and padding; None: the
            model reads no characters.
        forms: (types + 2, 2) group numbers of the lower-cased form and of its stem, equal for equal forms; None without
            word features.
        subword_ids: (2 (types + 2), s) sub-words of each word type, the extra token and padding, first those without a
            blank before the word, then those behind one; None: no encoder reads the words.
        shapes: (types + 2,) number of the word shape, such as capitalized, -1 for the extra token and padding; None
            without word features.
    """

    word_ids: npt.NDArray[np.int64]
    char_ids: npt.NDArray[np.int64] | None
    forms: npt.NDArray[np.int64] | None
    shapes: npt.NDArray[np.int64] | None
    subword_ids: npt.NDArray[np.int32] | None = None

    @property
    def extra_row(self) -> int:
        """The row of the extra token in front of every sequence."""
        return len(self.word_ids) - 2

    @property
    def padding_row(self) -> int:
        """The row of padding."""
        return len(self.word_ids) - 1

    def compute_word_features(
        self, types: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], other_types: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float32]:
        """Return the features of each word of a batch: exact matches with the other text and the forms of words.

        Args:
            types: (B, n) numbers of the distinct words of B texts at n positions, with the extra token in front and
                padding behind.
            lengths: (B,) number of words of each of B texts, without the extra token.
            other_types: (B, m) word types of the m words of each other text (question or context) in which matches are
                searched.

        Returns:
            (B, n, 4 + NUM_WORD_SHAPES); zeros at the extra token and at padding.
        """
        assert self.forms is not None
        assert self.shapes is not None
        words = (types != self.extra_row) & (types != self.padding_row)
        features = np.zeros((*types.shape, 4 + NUM_WORD_SHAPES), np.float32)
        keys = [(types, other_types), *((self.forms[types, kind], self.forms[other_types, kind]) for kind in range(2))]
        for index, (own_values, other_values) in enumerate(keys):
            features[..., index] = (own_values[:, :, None] == other_values[:, None, :]).any(axis=2)
        lower = self.forms[types, 0]
        features[..., 3] = (lower[:, :, None] == lower[:, None, :]).sum(axis=2) / np.maximum(lengths, 1)[:, None]
        rows, positions = np.nonzero(words)
        features[rows, positions, 4 + self.shapes[types[rows, positions]]] = 1
        features[~words] = 0
        return features


def build_type_tables(types: Sequence[str], tokenizer: WordCharTokenizer) -> TypeTables:
    """Return tables from each word type of the data to its word id, character ids and features."""
    extra_word = tokenizer.unk_token_id
    word_ids = [*(tokenizer.look_up_word_id(word) for word in types), extra_word, tokenizer.pad_token_id]
    char_ids = None
    if tokenizer.char_vocab is not None:
        length = tokenizer.max_word_length
        char_ids = np.zeros((len(types) + 2, length), np.int64)
        for row, word in enumerate(types):
            ids = tokenizer.character_ids(word)
            char_ids[row, : len(ids)] = ids
        char_ids[-2] = 1
    forms = shapes = None
    if tokenizer.word_features:
        number: dict[str, int] = {}
        lower = [word.lower() for word in types]
        forms = np.array(
            [
                (number.setdefault(low, len(number)), number.setdefault(f"\0{stem_word(low)}", len(number)))
                for low in lower
            ]
            + [(-1, -1), (-2, -2)],
            np.int64,
        )
        shapes = np.array([*(classify_word_shape(word) for word in types), -1, -1], np.int64)
    subword_ids = None
    if tokenizer.encoder_tokenizer is not None:
        subwords = [
            row
            for blank in (False, True)
            for row in (*tokenizer.cut_into_subwords(types, [blank] * len(types)), NO_SUBWORDS, NO_SUBWORDS)
        ]
        subword_ids = np.array(subwords, np.int32)
    return TypeTables(np.array(word_ids, np.int64), char_ids, forms, shapes, subword_ids)


@dataclass(frozen=True)
class LengthLimits:
    """The longest context, question and (in training) answer, in words."""

    context: int
    question: int
    answer: int | None = None


# oneDNN keeps compiled code for every length it meets, some 15 MB for a training step of BiDAF; with all lengths
# rounded up there are few of them.
LENGTH_MULTIPLE = 8

TRAINING_LIMITS = LengthLimits(context=400, question=50, answer=30)
EVALUATION_LIMITS = LengthLimits(context=1000, question=100)


def select_rows_within(split: PreparedSplit, limits: LengthLimits) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows whose question and context are not longer than the limits."""
    keep = (split.contexts.lengths()[split.context_of] <= limits.context) & (
        split.questions.lengths() <= limits.question
    )
    if limits.answer is not None:
        keep &= split.spans[:, 1] - split.spans[:, 0] + 1 <= limits.answer
    return np.flatnonzero(keep)


class SquadBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a batch: the inputs of `BidafForQuestionAnswering.forward`, and `row`.

    Contexts and questions beyond the limits are cut; an answer that is cut off counts as "no answer" in the labels.

    Args:
        split: Prepared split, its contexts and questions as arrays of word types.
        tables: Tables that map each word type to the ids and features that the model reads.
        rows: (n,) rows of the split that make up this dataset, which are renumbered 0..n-1.
        limits: Largest lengths, in words, to which contexts and questions are truncated.
    """

    def __init__(
        self, split: PreparedSplit, tables: TypeTables, rows: npt.NDArray[np.int64], limits: LengthLimits
    ) -> None:
        self.split = split
        self.tables = tables
        self.rows = rows
        self.limits = limits

    def __len__(self) -> int:
        return len(self.rows)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the number of context words of each row (n,), to put rows of like length into a batch."""
        return self.split.contexts.lengths()[self.split.context_of[self.rows]]

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the questions of these numbers with their contexts as a padded batch, with spans counted from the
        extra token at the front.
        """
        rows = self.rows[np.asarray(numbers)]
        split, limits, tables = self.split, self.limits, self.tables
        context, context_lengths = self._pad_texts(split.contexts, split.context_of[rows], limits.context)
        question, question_lengths = self._pad_texts(split.questions, rows, limits.question)
        batch = {
            "input_ids": tables.word_ids[context],
            "attention_mask": context != tables.padding_row,
            "question_input_ids": tables.word_ids[question],
            "question_attention_mask": question != tables.padding_row,
        }
        if tables.char_ids is not None:
            batch["char_ids"] = tables.char_ids[context]
            batch["question_char_ids"] = tables.char_ids[question]
        if tables.forms is not None:
            batch["word_features"] = tables.compute_word_features(context, context_lengths, question)
            batch["question_word_features"] = tables.compute_word_features(question, question_lengths, context)
        if tables.subword_ids is not None:
            half = len(tables.word_ids)  # rows of words behind a blank come second
            for name, types, texts, numbers_of_texts in (
                ("subword_ids", context, split.contexts, split.context_of[rows]),
                ("question_subword_ids", question, split.questions, rows),
            ):
                behind_blank = _find_words_behind_blanks(texts, numbers_of_texts, types.shape)
                batch[name] = take_subwords(tables.subword_ids, types + half * behind_blank)
        # One is added for the extra token; "no answer", -1, becomes its position 0.
        spans = self.split.spans[rows].astype(np.int64) + 1
        spans[spans[:, 1] > self.limits.context] = 0
        batch |= {"start_positions": spans[:, 0], "end_positions": spans[:, 1], "row": rows}
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in batch.items()}

    def _pad_texts(
        self, texts: PreparedTexts, indices: npt.NDArray[np.integer], limit: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the word types of the texts at `indices` (B,), padded (B, L) behind an extra token and cut after
        `limit` words, and their lengths (B,).
        """
        begins = texts.pointers[indices]
        lengths = np.minimum(texts.pointers[indices + 1] - begins, limit)
        longest = -(-(1 + int(lengths.max())) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
        types = np.full((len(indices), longest), self.tables.padding_row, np.int32)
        types[:, 0] = self.tables.extra_row
        for row, (begin, length) in enumerate(zip(begins, lengths, strict=True)):
            types[row, 1 : length + 1] = texts.types[begin : begin + length]
        return types, lengths


def _find_words_behind_blanks(
    texts: PreparedTexts, indices: npt.NDArray[np.integer], shape: tuple[int, ...]
) -> npt.NDArray[np.bool_]:
    """Return whether there is a blank before each word of the texts at `indices`, padded as `_pad_texts` pads them."""
    behind = np.zeros(shape, np.bool_)
    for row, index in enumerate(indices):
        offsets = texts.offsets[texts.pointers[index] : texts.pointers[index + 1]][: shape[1] - 1]
        # Position 0 is that of the extra token; the first word stands behind nothing.
        behind[row, 2 : len(offsets) + 1] = offsets[1:, 0] > offsets[:-1, 1]
    return behind
