"""A reader of words and characters with fewer words: the others have the row of unknown words, and their characters."""

from __future__ import annotations

import copy

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer
from ctxzoo.word_vectors.vocabulary import SPECIAL_ROWS


def cut_vocabulary(
    model: ZooPreTrainedModel, tokenizer: WordCharTokenizer, keep_words: int
) -> tuple[ZooPreTrainedModel, WordCharTokenizer]:
    """Return a smaller model and tokenizer that keep only the first, most frequent words of the word table.

    Tables begin with the most frequent words: of the training texts, or of those that given word vectors are from. A
    word that is left out has the row of another of its forms (lower case and so on) where that is kept.

    Args:
        model: Model whose word embedding table is cut to the most frequent words.
        tokenizer: Tokenizer that the model was trained with.
        keep_words: Number of words to keep, the most frequent; the special tokens are kept as well.

    Raises:
        ValueError: the table has fewer words; there is an encoder in its place.
    """
    size = SPECIAL_ROWS + keep_words
    if size > len(tokenizer):
        raise ValueError(
            f"keep_words={keep_words}: the checkpoint has {len(tokenizer) - SPECIAL_ROWS} words; expected at most that "
            "many"
        )
    if getattr(model.config, "encoder_config", None) is not None:
        raise ValueError("the words of the checkpoint are read by an encoder: there is no table whose words could go")
    config = copy.deepcopy(model.config)
    config.vocab_size = size  # type: ignore[attr-defined, unused-ignore]
    weights = dict(model.state_dict())
    table = _find_word_table_name(model)
    weights[table] = weights[table][:size]
    smaller = type(model)(config)
    smaller.load_state_dict(weights)
    numbers = tokenizer.char_vocab
    characters = None if numbers is None else sorted(numbers, key=numbers.__getitem__)
    return smaller.eval(), build_word_char_tokenizer(
        tokenizer.convert_ids_to_tokens(list(range(SPECIAL_ROWS, size))),
        characters=characters,
        max_word_length=tokenizer.max_word_length,
        word_features=tokenizer.word_features,
        model_max_length=tokenizer.model_max_length,
    )


def _find_word_table_name(model: ZooPreTrainedModel) -> str:
    """Return the name of the word table among the weights."""
    table = model.get_input_embeddings().weight
    names: list[str] = [name for name, parameter in model.named_parameters() if parameter is table]
    return names[0]
