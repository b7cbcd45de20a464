"""The sides of `word_embedding`: a training of word vectors by ctxzoo or by gensim, from the same known words."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.memory import measure_own_peak_memory_mb
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import build_pre_tokenizer
from ctxzoo.tasks.word_embeddings.corpus import Corpus, load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, WordEmbeddingTraining

DIM, WINDOW, NOISE, SUBSAMPLING, SEED = 50, 20, 10, 1e-3, 1
SPECIAL = 2
TEXT, KNOWN = "text.txt", "known.txt"  # all words of the text, and those that are frequent enough
SIMILARITY = ("wordsim353", "men3000")
Quality = dict[str, float | None]


@dataclass(frozen=True)
class Side:
    """One timed training of word vectors ("side" of a comparison): the library and its settings.

    Attributes:
        label: Name of the side in the printed tables.
        library: Name of the library that trains, "ctxzoo" or "gensim".
        architecture: Architecture as in `WordEmbeddingConfig.architecture`; gensim has cbow and skip_gram.
        shared_noise: Whether 16 centre words share their noise words; ctxzoo only.
        corpus_file: Whether threads read the text from a file; otherwise sentences are lists of words in memory; gensim
            only.
        learning_rate: Learning rate at the start; None: the usual one of the architecture.
    """

    label: str
    library: Literal["ctxzoo", "gensim"]
    architecture: str
    shared_noise: bool = False
    corpus_file: bool = False
    learning_rate: float | None = None


def load_known_corpus(folder: str | Path, min_count: int) -> Corpus:
    """Return the training corpus of a folder, whose text has spaces between the words."""
    source = CorpusSource(str(Path(folder, TEXT)))
    return load_corpus(source, build_pre_tokenizer(False), min_count=min_count, cache=Path(folder, "cache"))


def get_learning_rate(side: Side) -> float:
    """Return the learning rate of a side: its own, or the usual one of its architecture."""
    return side.learning_rate or CUSTOMS[side.architecture].learning_rate


def build_gensim_arguments(side: Side, threads: int) -> dict[str, Any]:
    """Return the arguments with which gensim's `Word2Vec` trains one epoch as the side does."""
    return {
        "vector_size": DIM,
        "window": WINDOW,
        "negative": NOISE,
        "sample": SUBSAMPLING,
        "sg": int(side.architecture == "skip_gram"),
        "alpha": get_learning_rate(side),
        "epochs": 1,
        "seed": SEED,
        "workers": threads,
    }


class Runner:
    """Trains the word vectors of one side in its worker process.

    Args:
        side: Implementation that trains, with its settings.
        folder: Folder with the files `TEXT`, the training text, and `KNOWN`, its words.
        min_count: Smallest number of occurrences for a word to be in the vocabulary.
        threads: Number of threads that train at once.
    """

    def __init__(self, side: Side, folder: str, min_count: str, threads: str) -> None:
        """Load the training text of `folder` for the side's library; measure the memory of the libraries before."""
        self.side = side
        self.threads = int(threads)
        self.known = str(Path(folder, KNOWN))
        self.rate = get_learning_rate(side)
        self.vectors: Any = None
        if side.library == "gensim":
            pass
        else:
            import ctxzoo.tasks.word_embeddings.hogwild_trainer  # noqa: F401
        self.libraries_mb = measure_own_peak_memory_mb()
        corpus = load_known_corpus(folder, int(min_count))
        self.words = corpus.words
        self.number = len(corpus.ids)
        if side.library == "ctxzoo":
            self.corpus = corpus
        elif not side.corpus_file:
            # One string for each word of the vocabulary, not of the text: its hash is computed once.
            names = np.array(corpus.words, object)
            cuts = corpus.pointers[1:-1]
            self.sentences = [part.tolist() for part in np.split(names[corpus.ids], cuts)]

    def warm_up(self, phase: str) -> None:
        """Compile ctxzoo's training loop before anything is timed."""
        self._prepare_training()

    def time_round(self, phase: str) -> float:
        """Train fresh word vectors for one epoch; return the seconds it takes."""
        train, vectors = self._prepare_training()
        begin = time.perf_counter()
        train()
        seconds = time.perf_counter() - begin
        self.vectors = vectors()
        return seconds

    def measure_peak_memory(self) -> float:
        """Return the MiB that training takes beyond the imported libraries."""
        return measure_own_peak_memory_mb() - self.libraries_mb

    def score_vectors(self) -> Quality:
        """Return the last round's scores of word similarity and analogies in percent; empty without test sets."""
        if not os.environ.get("CTXZOO_DATA"):
            return dict.fromkeys([*SIMILARITY, "semantic", "syntactic"])
        # Imported here, since a whole process, which scores nothing, should not wait for it.
        from ctxzoo.tasks.word_embeddings import analogy as word_analogy
        from ctxzoo.tasks.word_embeddings import similarity as word_similarity
        from ctxzoo.word_vectors.vectors import WordVectors

        words, table = self.vectors
        vectors = WordVectors.from_tensor(words, torch.from_numpy(np.array(table)), self.side.label, fold_digits=True)
        sets, _ = word_similarity.read_word_pairs()
        similarity = word_similarity.evaluate_similarity(vectors, {name: sets[name] for name in SIMILARITY})
        categories, _ = word_analogy.read_analogies()
        parts = word_analogy.sum_scores_by_kind(word_analogy.evaluate_analogies(vectors, categories), categories)
        return {
            **{name: score.spearman for name, score in similarity.items()},
            **{name: parts[name].accuracy for name in ("semantic", "syntactic")},
        }

    def _prepare_training(self) -> Any:
        """Return two functions: one trains fresh vectors, the other returns words and their vectors."""
        return self._prepare_gensim() if self.side.library == "gensim" else self._prepare_ctxzoo()

    def _prepare_ctxzoo(self) -> Any:
        """Return functions that train ctxzoo's vectors for one epoch, and return words and vectors (words, d)."""
        from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer

        torch.manual_seed(SEED)
        config = WordEmbeddingConfig(
            vocab_size=len(self.words) + SPECIAL,
            num_special_tokens=SPECIAL,
            architecture=self.side.architecture,
            word_dim=DIM,
            window=WINDOW,
        )
        training = WordEmbeddingTraining.with_architecture_defaults(
            self.side.architecture,
            epochs=1,
            negative_samples=NOISE,
            subsampling=SUBSAMPLING,
            shared_noise=self.side.shared_noise,
            learning_rate=self.rate,
            seed=SEED,
        )
        model = WordEmbeddingForMaskedLM(config)
        trainer = HogwildTrainer(model, self.corpus, training, threads=self.threads)
        table = model.get_input_embeddings().weight
        return trainer.fit, lambda: (self.words, table[SPECIAL:].detach().numpy())

    def _prepare_gensim(self) -> Any:
        """Return functions that train gensim's vectors for one epoch, and return words and vectors (words, d)."""
        import gensim.models

        model = gensim.models.Word2Vec(min_count=1, **build_gensim_arguments(self.side, self.threads))
        text = {"corpus_file": self.known} if self.side.corpus_file else {"corpus_iterable": self.sentences}
        model.build_vocab(**text)
        sizes = {"total_examples": model.corpus_count, "total_words": model.corpus_total_words, "epochs": 1}
        return lambda: model.train(**text, **sizes), lambda: (model.wv.index_to_key, model.wv.vectors)
