"""How well a model of word embeddings predicts the words of a text that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, PreTrainedModel

from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.sample import SAMPLE_SEED, sample_corpus
from ctxzoo.tasks.word_embeddings.word_prediction import word_prediction_scores
from ctxzoo.training.scoring import check_head, tokenizer_of

SAMPLE_SEEDS = {"train": SAMPLE_SEED, "test": SAMPLE_SEED + 1}  # trainings read the first


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    text_column: str = "text",
    words: int = 5000,
) -> dict[str, float]:
    """Score a model of word embeddings on a split; with the same `words` the numbers that its recipe wrote.

    Each word is predicted from those around it in its line, with the whole vocabulary. Scores of the vectors
    themselves: `ctxzoo evaluate-embeddings`.

    Args:
        checkpoint: folder or Hub id with model and tokenizer, or a model, in evaluation mode.
        dataset: Hub id or folder; file of text, which is its own split "train"; or "sample" for generated sentences, of
            which "train" is what recipes train on, and "test" others.
        split: name of a split.
        tokenizer: of a model; default the one of the checkpoint.
        data_dir: folder of datasets as `<namespace>/<name>`; default `$CTXZOO_DATA`.
        text_column: of a dataset.
        words: about as many of the split's known words are predicted, from its beginning.

    Returns:
        `perplexity`, and `nll` in nats: means over the predicted words.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: a checkpoint of another problem; no such split or column; no line with two known words; `words`
            below 1; a model without its tokenizer.
    """
    if words < 1:
        raise ValueError(f"words is {words}; expected 1 or more")
    check_head(AutoModelForMaskedLM, checkpoint)
    model: Any = checkpoint
    if not isinstance(checkpoint, PreTrainedModel):
        model = AutoModelForMaskedLM.from_pretrained(str(checkpoint))
    lines = _lines(CorpusSource(dataset, column=text_column, split=split, data_dir=data_dir))
    return word_prediction_scores(model, tokenizer_of(checkpoint, tokenizer), lines, words=words)


def _lines(source: CorpusSource) -> Iterable[str]:
    """Return the lines of a split.

    Raises:
        ValueError: a text that has no splits, or generated sentences, without this one.
    """
    if source.has_splits:
        return source.lines()
    splits = tuple(SAMPLE_SEEDS) if source.name == "sample" else ("train",)
    if source.split not in splits:
        raise ValueError(f"{source.name} has no split {source.split!r}; it has {', '.join(splits)}")
    return sample_corpus(SAMPLE_SEEDS[source.split]) if source.name == "sample" else source.lines()
