"""A reader of words and characters with fewer words: the others have the row of unknown words, and their characters."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ctxzoo.data.vocabulary import SPECIAL_ROWS
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer


def most_read_rows(counts: npt.NDArray[np.int64], keep: int) -> list[int]:
    """The rows of `keep` words that are read most often, in the order of the table; of equal ones the first.

    Args:
        counts: (rows,) how often each row of the word table is read; those of padding and unknown words do not matter.
        keep: number of words.

    Raises:
        ValueError: the table has fewer words.
    """
    words = counts[SPECIAL_ROWS:]
    if keep > len(words):
        raise ValueError(f"keep_words={keep}: the checkpoint has {len(words)} words; expected at most that many")
    return sorted((np.argsort(-words, kind="stable")[:keep] + SPECIAL_ROWS).tolist())


def cut_vocabulary(
    model: ZooPreTrainedModel, tokenizer: WordCharTokenizer, rows: Sequence[int]
) -> tuple[ZooPreTrainedModel, WordCharTokenizer]:
    """The same reader with these rows of its word table alone; scores of texts of kept words stay as they are.

    A word that is left out has the row of another of its forms (lower case and so on) where that is kept.

    Args:
        model: whose configuration has a `vocab_size`.
        tokenizer: of the model.
        rows: those of the words to keep, sorted; the special ones stay.
    """
    kept = [*range(SPECIAL_ROWS), *rows]
    config = copy.deepcopy(model.config)
    config.vocab_size = len(kept)  # type: ignore[attr-defined, unused-ignore]
    weights = dict(model.state_dict())
    table = _table_name(model)
    weights[table] = weights[table][kept]
    smaller = type(model)(config)
    smaller.load_state_dict(weights)
    numbers = tokenizer.char_vocab
    characters = None if numbers is None else sorted(numbers, key=numbers.__getitem__)
    return smaller.eval(), build_word_char_tokenizer(
        tokenizer.convert_ids_to_tokens(list(rows)),
        characters=characters,
        max_word_length=tokenizer.max_word_length,
        word_features=tokenizer.word_features,
        model_max_length=tokenizer.model_max_length,
    )


def _table_name(model: ZooPreTrainedModel) -> str:
    """The name of the word table among the weights."""
    table = model.get_input_embeddings().weight
    names: list[str] = [name for name, parameter in model.named_parameters() if parameter is table]
    return names[0]
