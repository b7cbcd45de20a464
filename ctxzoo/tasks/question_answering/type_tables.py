"""What a model is fed for each word type: word ids, characters, word features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ctxzoo.models.tokenization_word_char import NUM_WORD_SHAPES, WordCharTokenizer, stem, word_shape


@dataclass(frozen=True)
class TypeTables:
    """Rows 0..types-1 belong to the types; row `extra` to the extra token, the last row `padding` to padding.

    Attributes:
        word_ids: (types + 2,) rows of the word table.
        char_ids: (types + 2, L), or None without characters.
        forms: (types + 2, 2) numbers of the lower-cased form and of its stem, equal for equal forms; None without
            features.
        shapes: (types + 2,) word shape, -1 for the extra token and padding; None without features.
    """

    word_ids: npt.NDArray[np.int64]
    char_ids: npt.NDArray[np.int64] | None
    forms: npt.NDArray[np.int64] | None
    shapes: npt.NDArray[np.int64] | None

    @property
    def extra(self) -> int:
        """The row of the extra token in front of every sequence."""
        return len(self.word_ids) - 2

    @property
    def padding(self) -> int:
        """The row of padding."""
        return len(self.word_ids) - 1

    def features(
        self, types: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], other: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float32]:
        """Compute the word features of a batch, as `word_features` of the tokenizer does one text at a time.

        Args:
            types: (B, n) with the extra token in front and padding behind.
            lengths: (B,) words without the extra token.
            other: (B, m) the texts to match against.

        Returns:
            (B, n, 4 + NUM_WORD_SHAPES); zeros at the extra token and at padding.
        """
        assert self.forms is not None
        assert self.shapes is not None
        words = (types != self.extra) & (types != self.padding)
        features = np.zeros((*types.shape, 4 + NUM_WORD_SHAPES), np.float32)
        keys = [(types, other), *((self.forms[types, kind], self.forms[other, kind]) for kind in range(2))]
        for index, (mine, theirs) in enumerate(keys):
            features[..., index] = (mine[:, :, None] == theirs[:, None, :]).any(axis=2)
        lower = self.forms[types, 0]
        features[..., 3] = (lower[:, :, None] == lower[:, None, :]).sum(axis=2) / np.maximum(lengths, 1)[:, None]
        rows, positions = np.nonzero(words)
        features[rows, positions, 4 + self.shapes[types[rows, positions]]] = 1
        features[~words] = 0
        return features


def build_type_tables(types: Sequence[str], tokenizer: WordCharTokenizer) -> TypeTables:
    """Return the tables of these types for a tokenizer's vocabulary, characters and features."""
    extra_word = tokenizer.unk_token_id
    word_ids = [*(tokenizer.word_id(word) for word in types), extra_word, tokenizer.pad_token_id]
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
            [(number.setdefault(low, len(number)), number.setdefault(f"\0{stem(low)}", len(number))) for low in lower]
            + [(-1, -1), (-2, -2)],
            np.int64,
        )
        shapes = np.array([*(word_shape(word) for word in types), -1, -1], np.int64)
    return TypeTables(np.array(word_ids, np.int64), char_ids, forms, shapes)
