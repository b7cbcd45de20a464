"""Part-of-speech induction: how well the states of an untaught hidden Markov model over word vectors match tags."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain

import datasets
import numpy as np
from sklearn.metrics import v_measure_score
from threadpoolctl import threadpool_limits

from ctxzoo.data.sources import dataset_fingerprint, get_column_values, load_splits
from ctxzoo.tasks.word_embeddings.gaussian_hmm import VectorSequences, fit_gaussian_hmm
from ctxzoo.tasks.word_embeddings.word_rows import UNKNOWN, look_up_rows
from ctxzoo.word_vectors.vectors import WordVectors

DATASET = "ctxzoo-data/ptb_sample"
VARIANCE = 0.45  # sigma^2, of vectors whose numbers have the standard deviation 1
RESTARTS = 10


@dataclass(frozen=True)
class TaggedSentences:
    """Sentence i has the words words[i] and, of each set of tags, as many tags[name][i]."""

    words: Sequence[Sequence[str]]
    tags: dict[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Restart:
    """One training: its log-likelihood in nats, its V-measure times 100, and its iterations."""

    log_likelihood: float
    v_measure: float
    iterations: int


@dataclass(frozen=True)
class PosInduction:
    """The results of the trainings from all starts.

    Attributes:
        restarts: Results of the trainings from different random starts, in the order of their seeds.
        states: Number of hidden states of the model.
        coverage: Percentage of the tokens whose word has a vector.
    """

    restarts: tuple[Restart, ...]
    states: int
    coverage: float

    @property
    def best_restart(self) -> Restart:
        """The fit with the highest likelihood, as one would choose it without gold tags."""
        return max(self.restarts, key=lambda restart: restart.log_likelihood)

    @property
    def median_v_measure(self) -> float:
        """The median of the V-measures."""
        return statistics.median(restart.v_measure for restart in self.restarts)

    @property
    def v_measure_range(self) -> tuple[float, float]:
        """The lowest and the highest V-measure."""
        values = [restart.v_measure for restart in self.restarts]
        return min(values), max(values)


def read_tagged_sentences(
    tags: Sequence[str], dataset: str = DATASET, data_dir: str | None = None
) -> tuple[TaggedSentences, str]:
    """Return the tagged sentences of all splits together, and a hash of their content.

    Args:
        tags: Names of the tag columns to read.
        dataset: Hub id or folder of tagged sentences, with a column `tokens`.
        data_dir: Folder with one sub-folder per dataset, as in `resolve_dataset`.

    Raises:
        DatasetUnavailableError: it is not there.
        ValueError: a column is missing, there is no row, or a sentence has not one tag for each word.
    """
    loaded = load_splits(dataset, data_dir)
    for split in loaded:
        for name in ("tokens", *tags):
            get_column_values(loaded, split, name, dataset)
    rows = datasets.concatenate_datasets([loaded[split].select_columns(["tokens", *tags]) for split in loaded])
    words = rows["tokens"][:]
    sets = {name: rows[name][:] for name in tags}
    for name, column in sets.items():
        for number, (sentence, sentence_tags) in enumerate(zip(words, column, strict=True)):
            if len(sentence) != len(sentence_tags):
                raise ValueError(
                    f"dataset {dataset!r}, sentence {number}: {len(sentence)} words, but {len(sentence_tags)} "
                    f"{name!r}; expected one for each word"
                )
    return TaggedSentences(words, sets), dataset_fingerprint(rows)


def induce_pos(
    vectors: WordVectors,
    sentences: TaggedSentences,
    tags: str,
    *,
    states: int | None = None,
    restarts: int = RESTARTS,
    seed: int = 0,
    threads: int = 0,
) -> PosInduction:
    """Fit Gaussian hidden Markov models to the word vectors of text and compare their states with the gold tags.

    Words are looked up by `WordVectors.lookup`, which tries other cases and, where the vectors say so, folds digits.
    The others get the mean of all vectors. The vectors are divided by one number, so that the standard deviation of
    all numbers of all tokens' vectors is 1.

    Args:
        vectors: Word vectors, all rows of the file, since their mean stands in for unknown words.
        sentences: Sentences with their tags; empty ones are skipped.
        tags: Name of the tag column to compare the states with.
        states: Number of hidden states; default: the number of different tags.
        restarts: Number of trainings from different random starts.
        seed: Seed of the first random start; the following starts use the next numbers.
        threads: Number of trainings that run at the same time; 0: one for each core.

    Raises:
        ValueError: no such tags, no token, no word with a vector, vectors that are all equal, or `restarts` below 1.
    """
    if tags not in sentences.tags:
        raise ValueError(f"no tags {tags!r}; there are {', '.join(sentences.tags)}")
    if restarts < 1:
        raise ValueError(f"restarts is {restarts}; expected 1 or more")
    gold = list(chain.from_iterable(sentences.tags[tags]))
    sequences, coverage = _build_vector_sequences(vectors, sentences.words)
    number = len(set(gold)) if states is None else states
    train = partial(_run_restart, sequences, gold, number)
    # Threads are enough: NumPy leaves the interpreter's lock in its loops. Its matrix products get one thread each.
    with threadpool_limits(1), ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        trainings = tuple(pool.map(train, range(seed, seed + restarts)))
    return PosInduction(trainings, number, coverage)


def _build_vector_sequences(vectors: WordVectors, sentences: Sequence[Sequence[str]]) -> tuple[VectorSequences, float]:
    """Return the vectors of the words of the sentences, scaled to deviation 1, and the percentage of known words."""
    rows = look_up_rows(vectors, chain.from_iterable(sentences))
    is_known = rows != UNKNOWN
    if not is_known.any():
        raise ValueError(
            f"{vectors.name} has a vector for none of the {len(rows)} tokens; choose vectors of this language"
        )
    matrix = vectors.vectors.numpy().astype(np.float64)
    # Unknown words have the last row; only vectors that occur are kept.
    types, words = np.unique(np.where(is_known, rows, len(matrix)), return_inverse=True)
    type_vectors = np.concatenate([matrix, matrix.mean(axis=0, keepdims=True)])[types]
    deviation = float(type_vectors[words].std())
    if not deviation > 0:
        raise ValueError(f"the vectors of {vectors.name} for these tokens are all equal; choose trained vectors")
    return VectorSequences(
        type_vectors / deviation, words, [len(sentence) for sentence in sentences]
    ), 100 * is_known.mean()


def _run_restart(sequences: VectorSequences, gold_tags: Sequence[str], num_states: int, seed: int) -> Restart:
    """Fit a Gaussian hidden Markov model from one random start and score its states against the gold tags."""
    fitted = fit_gaussian_hmm(sequences, num_states, variance=VARIANCE, seed=seed)
    v_measure = 100 * float(v_measure_score(gold_tags, fitted.model.find_viterbi_states(sequences)))
    return Restart(fitted.log_likelihoods[-1], v_measure, len(fitted.log_likelihoods) - 1)
