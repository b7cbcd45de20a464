"""Contextualizer with learned word vectors on MR, CR, SUBJ and MPQA: Table 4 of Maupomé and Meurs (2021), and beyond.

    python recipes/sentence_contextualizer.py                          all four datasets, the paper's settings
    python recipes/sentence_contextualizer.py --datasets sample --epochs 3      no network needed
    python recipes/sentence_contextualizer.py --datasets SetFit/CR --dropout 0.5 --embedding_bound 0.1 --name dropout
    python recipes/sentence_contextualizer.py --resume                 finished folds are kept, the others go on

Settings are the paper's, or those of docs/models/contextualizer.md where it is silent; --name tells runs with other
settings from them. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, cross_validate
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS

RECIPE, ARCHITECTURE = "sentence_contextualizer", "contextualizer"
W = "contextualizer.steps.feature_factors"


@dataclass
class Settings(CrossValidationSettings):
    datasets: list[str] = field(
        default_factory=lambda: list(SENTENCE_DATASETS.values()),
        metadata={"help": "Hub ids, folders, files, or: sample"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the paper"})
    steps: int = field(default=5, metadata={"help": "K"})
    recurrent: bool = True
    rank: int = 100
    word_dim: int = 250
    position_dim: int = 20
    freeze_embeddings: bool = False
    embedding_bound: float = field(default=1.0, metadata={"help": "word vectors start in U(-bound, bound)"})
    initial_context: str = field(default="random", metadata={"help": "ones, learned or random"})
    eval_context: str = field(default="redraw", metadata={"help": "of random starts at evaluation: redraw or fixed"})
    eval_context_samples: int = field(default=1, metadata={"help": "starts whose probabilities are averaged"})
    concatenate_steps: bool = field(default=False, metadata={"help": "the classifier reads every step"})
    dropout: float = field(default=0.0, metadata={"help": "on words and on the last context"})
    word_dropout: float = field(default=0.0, metadata={"help": "fraction of words left out in training"})
    ngram_order: int = field(default=1, metadata={"help": "hashed n-grams up to this many words as further tokens"})
    char_ngrams: list[int] = field(default_factory=list, metadata={"help": "shortest and longest character n-gram"})
    ngram_buckets: int = field(default=0, metadata={"help": "rows of the word table for hashed n-grams"})
    char_ngram_buckets: int = field(default=0, metadata={"help": "rows for those of characters alone; 0: they share"})
    naive_bayes: float = field(
        default=0.0,
        metadata={"help": "start as naive Bayes, whose class scores are so far apart; 0: start at random"},
    )
    plain_mean: bool = field(
        default=False,
        metadata={"help": "W stays 0, so that every context is the mean of the words: what attention adds"},
    )


def main(settings: Settings) -> None:
    cells = [cell_of(dataset, settings) for dataset in settings.datasets]
    cross_validate(cells, settings, recipe=RECIPE, commit=git_commit())


def cell_of(dataset: str, settings: Settings) -> Cell:
    config = {
        "model_type": f"ctxzoo_{ARCHITECTURE}",
        "num_steps": settings.steps,
        "recurrent": settings.recurrent,
        "rank": 8 if settings.tiny else settings.rank,
        "word_dim": 12 if settings.tiny else settings.word_dim,
        "position_dim": 4 if settings.tiny else settings.position_dim,
        "freeze_embeddings": settings.freeze_embeddings,
        "embedding_bound": settings.embedding_bound,
        "initial_context": settings.initial_context,
        "eval_context": settings.eval_context,
        "eval_context_samples": settings.eval_context_samples,
        "concatenate_steps": settings.concatenate_steps,
        "dropout": settings.dropout,
        "word_dropout": settings.word_dropout,
    }
    ngrams = {
        "ngram_order": settings.ngram_order if settings.ngram_order != 1 else None,
        "ngram_buckets": settings.ngram_buckets,
        "char_ngrams": settings.char_ngrams,
        "char_ngram_buckets": settings.char_ngram_buckets,
    }
    data = {name: value for name, value in ngrams.items() if value}
    variant = "frozen_embeddings" if settings.freeze_embeddings else "learned_embeddings"
    return Cell(
        name=Path(dataset).name,
        dataset=dataset,
        variant=variant,
        config=config,
        data=data,
        tag=settings.name,
        naive_bayes=settings.naive_bayes,
        zeroed=(W,) if settings.plain_mean else (),
    )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
