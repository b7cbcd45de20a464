"""Word vectors to and from models of the architecture `word_embedding`."""

from __future__ import annotations

import torch

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM, WordEmbeddingPreTrainedModel
from ctxzoo.models.tokenization_word import PreTokenizerName, WordTokenizer, build_word_tokenizer
from ctxzoo.word_vectors.vectors import WordVectors


def extract_word_vectors(model: WordEmbeddingPreTrainedModel, tokenizer: WordTokenizer, name: str = "") -> WordVectors:
    """Return W, (words, dim) the vectors of all words of a model, special tokens left out.

    Args:
        model: Word embedding model, with or without a head.
        tokenizer: Tokenizer that belongs to the model.
        name: Name of the vectors; default: architecture and dimension, such as "attention_cbow.50d".

    Raises:
        ValueError: the tokenizer has another number of ids, or of special tokens, than the model.
    """
    config = model.config
    first = config.num_special_tokens
    special = sorted(set(tokenizer.all_special_ids))
    if len(tokenizer) != config.vocab_size or special != list(range(first)):
        raise ValueError(
            f"the tokenizer has {len(tokenizer)} ids with the special ids {special}; the model expects "
            f"{config.vocab_size} ids, of which the first {first} are special. They do not belong together"
        )
    words: list[str] = tokenizer.convert_ids_to_tokens(list(range(first, config.vocab_size)))
    table = model.get_input_embeddings().weight
    return WordVectors.from_tensor(
        words,
        table[first:].detach().float().cpu().clone(),
        name or f"{config.architecture}.{config.word_dim}d",
        fold_digits=tokenizer.fold_digits,
    )


def build_model_from_vectors(
    vectors: WordVectors,
    *,
    window: int = 5,
    lower_case: bool = False,
    fold_digits: bool = False,
    pre_tokenizer: PreTokenizerName = "whitespace",
) -> tuple[WordEmbeddingForMaskedLM, WordTokenizer]:
    """Return a CBOW model with these vectors, and its tokenizer, by which vectors from elsewhere are saved and trained.

    Files of word vectors hold no output vectors, so O is 0 and every word has the same score until it is trained.

    Args:
        window: Half width b of the window.
        lower_case, fold_digits, pre_tokenizer: Lower-casing, replacement of digits by 0, and name of the pre-tokenizer
            with which texts are cut into words, as in `build_word_tokenizer`.

    Raises:
        ValueError: a word that no text can give with these settings; the message names it.
    """
    tokenizer = build_word_tokenizer(
        vectors.words, lower_case=lower_case, fold_digits=fold_digits, pre_tokenizer=pre_tokenizer, mask_token=True
    )
    special = len(set(tokenizer.all_special_ids))
    config = WordEmbeddingConfig(
        vocab_size=len(tokenizer),
        num_special_tokens=special,
        word_dim=vectors.dim,
        window=window,
        architecture="cbow",
    )
    model = WordEmbeddingForMaskedLM(config)
    with torch.no_grad():
        model.get_input_embeddings().weight[special:] = vectors.vectors
    return model.eval(), tokenizer
