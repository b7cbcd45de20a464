"""How well a model of word embeddings predicts the words of a text that it was not trained on: the full softmax."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, PreTrainedModel

from ctxzoo.data.notices import hide_weight_progress_bars
from ctxzoo.data.text_columns import ColumnNames, list_column_names
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.tasks.word_embeddings.corpus_lines import TEXT, CorpusSource, refuse_columns_of_plain_text
from ctxzoo.tasks.word_embeddings.sample import SAMPLE_SEED, sample_corpus
from ctxzoo.training.scoring import check_checkpoint_head, load_tokenizer

PIECE_WORDS = 200  # words of a piece of text that is scored at once


@torch.no_grad()
def score_word_prediction(
    model: WordEmbeddingForMaskedLM, tokenizer: WordTokenizer, lines: Iterable[str], *, words: int
) -> dict[str, float]:
    """Return loss in nats, `nll`, and `perplexity` of masked words, over about the first `words` known words.

    Every word is predicted from those around it in its line; a line's only known word is not counted.

    Raises:
        ValueError: no line has two known words.
    """
    total, count = 0.0, 0
    for line in lines:
        ids = tokenizer(line, truncation=True, max_length=PIECE_WORDS, return_tensors="pt")["input_ids"].long()
        number = ids.numel()
        if number > 1:
            total += float(model(input_ids=ids, labels=ids).loss) * number
            count += number
        if count >= words:
            break
    if not count:
        raise ValueError("no line of the test text has two known words; give other text or train on more")
    return {"nll": total / count, "perplexity": math.exp(min(total / count, 700.0))}


SAMPLE_SEEDS = {"train": SAMPLE_SEED, "test": SAMPLE_SEED + 1}  # trainings read the first


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    text_column: ColumnNames = None,
    words: int = 5000,
) -> dict[str, float]:
    """Return the scores of word embeddings on a split by name; with equal `words` those that their training reported.

    Each word is predicted from those around it in its line, with the whole vocabulary. Scores of the vectors
    themselves: `ctxzoo evaluate-embeddings`.

    Args:
        checkpoint: Folder or Hub id with model and tokenizer, or a model, in evaluation mode.
        dataset: Data to score on: a Hub id or folder; a text file, which is its own split "train"; or "sample"
            (generated sentences, with the splits "train" and "test").
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        text_column: Name of the dataset's text column, or several to join; default: text.
        words: Approximate number of words to predict, counted from the beginning of the split; default 5000.

    Returns:
        `perplexity`, and `nll` in nats: means over the predicted words.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: a checkpoint of another problem; no such split or column, or a column of a file of text; no line
            with two known words; `words` below 1; a model without its tokenizer.
    """
    if words < 1:
        raise ValueError(f"words is {words}; expected 1 or more")
    check_checkpoint_head(AutoModelForMaskedLM, checkpoint)
    model: Any = checkpoint
    if not isinstance(checkpoint, PreTrainedModel):
        with hide_weight_progress_bars():
            model = AutoModelForMaskedLM.from_pretrained(str(checkpoint))
    lines = _read_split_lines(
        CorpusSource(dataset, list_column_names(text_column) or TEXT, split, data_dir), text_column
    )
    return score_word_prediction(model, load_tokenizer(checkpoint, tokenizer), lines, words=words)


def _read_split_lines(source: CorpusSource, text_column: ColumnNames) -> Iterable[str]:
    """Return the lines of text of a split.

    Raises:
        ValueError: a text that has no splits, or generated sentences, without this one; a column of either.
    """
    if source.has_splits:
        return source.lines()
    refuse_columns_of_plain_text(source.name, text_column)
    splits = tuple(SAMPLE_SEEDS) if source.name == "sample" else ("train",)
    if source.split not in splits:
        raise ValueError(f"{source.name} has no split {source.split!r}; it has {', '.join(splits)} (or set `split`)")
    return sample_corpus(SAMPLE_SEEDS[source.split]) if source.name == "sample" else source.lines()
