"""Small trainings of word vectors that can be stopped at a chosen moment, in this process or in one of its own.

`python -m tests.support.hogwild_runs <folder>` trains slowly until it is killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import build_pre_tokenizer
from ctxzoo.tasks.word_embeddings import hogwild_trainer
from ctxzoo.tasks.word_embeddings.corpus import Corpus, load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer
from ctxzoo.tasks.word_embeddings.sample import sample_corpus
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining

SPECIAL = 2
CHUNK = 100  # words between two checks whether to stop
CHECKPOINT = "last.safetensors"


def corpus_of(folder: Path, lines: Iterable[str] | None = None, min_count: int = 1) -> Corpus:
    """Return the corpus of lines; without them, of a part of the generated sample."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "text.txt"
    path.write_text("\n".join(sample_corpus(0, 300) if lines is None else lines), encoding="utf-8")
    return load_corpus(CorpusSource(str(path)), build_pre_tokenizer(True), min_count=min_count, cache=folder / "cache")


def model_of(corpus: Corpus, **config: Any) -> WordEmbeddingForMaskedLM:
    """Return a model as it starts; d = 8, b = 12 by default."""
    torch.manual_seed(0)
    sizes = {"word_dim": 8, "window": 12, "num_special_tokens": SPECIAL, **config}
    return WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=len(corpus.words) + SPECIAL, **sizes))


def settings(**changes: Any) -> WordEmbeddingTraining:
    """Return settings of a short training that draws all that can be drawn.

    One set of compiled loops serves all, that of `test_all_that_is_drawn_in_windows_longer_than_a_line` too.
    """
    given = {"epochs": 2, "negative_samples": 3, "subsampling": 1e-2, "learning_rate": 0.1, "schedule": "linear"}
    drawn = {"random_window": True, "shared_noise": True}
    return WordEmbeddingTraining.with_architecture_defaults("attention_cbow", **{**given, **drawn, **changes})


def trainer_of(corpus: Corpus, *, training: WordEmbeddingTraining | None = None, **options: Any) -> HogwildTrainer:
    """Return the trainer of a fresh model; `options` are those of the trainer."""
    return HogwildTrainer(model_of(corpus), corpus, training or settings(), **options)


def slowed(trainer: HogwildTrainer, seconds: float = 2e-3) -> HogwildTrainer:
    """Slow a trainer down by a rest before each piece of text, so that there is time to stop it in the middle."""
    kernel: Callable[..., tuple[int, float, int]] = trainer.kernel

    def slow(*arguments: Any) -> tuple[int, float, int]:
        time.sleep(seconds)
        return kernel(*arguments)

    trainer.kernel = slow
    return trainer


def train_until_killed(folder: Path) -> None:
    """Write a checkpoint as often as it goes, and say when one of the middle of the second pass is there."""

    def report(progress: Any) -> None:
        if progress.epoch == 1 and progress.words % progress.total_words:
            print("in the second pass", flush=True)

    hogwild_trainer.CHUNK_WORDS, hogwild_trainer.REPORT_SECONDS = CHUNK, 0.01
    checkpoint = folder / CHECKPOINT
    trainer = trainer_of(corpus_of(folder), checkpoint=checkpoint, checkpoint_seconds=0, report=report)
    slowed(trainer, 0.02).fit()


if __name__ == "__main__":
    train_until_killed(Path(sys.argv[1]))
