"""Baselines of taggers: the most frequent tag of each word, and a linear model of a word, its shape and neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, f1_score

from ctxzoo.data.notices import format_count
from ctxzoo.metrics.spans import score_spans
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.models.tokenization_features import compute_word_shape
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.problem import TINY_SENTENCES
from ctxzoo.tasks.token_classification.sources import TOKENS
from ctxzoo.training.remaining_time import RemainingTime

Labels = npt.NDArray[np.int64]  # (N,) of all words of some sentences, one sentence behind the other
Sentences = Sequence[Sequence[str]]

EPOCHS, PARTS, PENALTY = 3, 10, 1e-6  # of the linear model; after each part it is told how long the rest takes
HASHED = 2**18  # numbers of features
EDGE = ""  # in place of a word before the first, and behind the last


def get_sentences_and_labels(data: TokenClassificationDataModule, split: str) -> tuple[Sentences, Labels]:
    """Return the sentences of a split of data after `setup`, and the labels of their words, `IGNORED` for none.

    Raises:
        ValueError: there is no such split.
    """
    rows = data.texts(split).select(data.rows(split))
    return rows[TOKENS][:], np.concatenate([np.asarray(labels, np.int64) for labels in rows["labels"][:]])


class FrequentTags:
    """Gives each word the tag that it has most often, one that was never seen the most frequent tag of all.

    Of tags that are as frequent it is the first.

    Args:
        sentences, labels: Training sentences as lists of words, and the tag number of each word.
    """

    def __init__(self, sentences: Sentences, labels: Labels) -> None:
        words = [word for sentence in sentences for word in sentence]
        pairs = [(word, label) for word, label in zip(words, labels.tolist(), strict=True) if label != IGNORED]
        self.usual = int(np.bincount([label for _, label in pairs]).argmax())
        counts = sorted(Counter(pairs).items(), key=lambda one: (one[1], -one[0][1]))
        self.tags = {word: label for (word, label), _ in counts}  # what is most frequent comes last, and stays

    @property
    def num_parameters(self) -> int:
        """Number of parameters that the model stores."""
        return len(self.tags) + 1

    def predict(self, sentences: Sentences) -> Labels:
        """Return the labels of all words of sentences."""
        return np.array([self.tags.get(word, self.usual) for sentence in sentences for word in sentence], np.int64)


def extract_features(sentence: Sequence[str]) -> Iterator[list[str]]:
    """Yield the features of each word, those of a conditional random field but for the tag before.

    They are the word, its lower case, its first and last one to three letters, its shape, and the words before and
    behind it in lower case, much as in Huang, Xu and Yu (2015).
    """
    padded = [EDGE, *(word.lower() for word in sentence), EDGE]
    for place, word in enumerate(sentence):
        lower = padded[place + 1]
        parts = [
            f"{end}{size}={part}" for size in (1, 2, 3) for end, part in (("p", lower[:size]), ("s", lower[-size:]))
        ]
        beside = (f"before={padded[place]}", f"behind={padded[place + 2]}")
        yield [f"w={word}", f"l={lower}", f"shape={compute_word_shape(word)}", *parts, *beside]


class LinearTagger:
    """A linear model of the features of each word, hashed: averaged SGD on the hinge loss of each tag against the rest.

    Args:
        sentences, labels: Training sentences as lists of words, and the tag number of each word.
        seed: Seed of the random order of batches.

    Raises:
        ValueError: there are fewer than two tags.
    """

    def __init__(self, sentences: Sentences, labels: Labels, seed: int = 0) -> None:
        self.hasher = FeatureHasher(HASHED, input_type="string")
        counts = labels != IGNORED
        features, labels = self._hash_features(sentences)[counts], labels[counts]
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"the only tag of {format_count(len(labels), 'words')} is number {labels[0]}; expected two"
            )
        self.model = SGDClassifier(alpha=PENALTY, average=True, random_state=seed)
        remaining = RemainingTime(f"linear model beside it, fitted to {format_count(len(labels), 'words')}", "parts")
        order = np.random.default_rng(seed)
        rows = [part for _ in range(EPOCHS) for part in np.array_split(order.permutation(len(labels)), PARTS)]
        for number, part in enumerate(rows, start=1):
            if len(part):
                self.model.partial_fit(features[part], labels[part], classes=np.unique(labels))
            remaining.print_if_due(number, len(rows))

    def _hash_features(self, sentences: Sentences) -> Any:
        return self.hasher.transform(one for sentence in sentences for one in extract_features(sentence))

    @property
    def num_parameters(self) -> int:
        """Number of parameters that the model stores."""
        return int(self.model.coef_.size + self.model.intercept_.size)

    def predict(self, sentences: Sentences) -> Labels:
        """Return the labels of all words of sentences."""
        found: Labels = self.model.predict(self._hash_features(sentences))
        return found


BASELINES: Mapping[str, type[FrequentTags | LinearTagger]] = MappingProxyType(
    {"most_frequent_tag": FrequentTags, "linear_tagger": LinearTagger}
)


@dataclass(frozen=True)
class TagRun(CountedRun):
    """One of `BASELINES`, fitted to the training rows, a tiny one to the first of them; see `CountedRun`."""

    columns = ("tag_column",)
    tiny_rows = TINY_SENTENCES

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {} if self.max_rows is None else {"most_sentences": self.max_rows}

    def fit(self, data: TokenClassificationDataModule) -> SimpleModel:
        sentences, labels = get_sentences_and_labels(data, "train")
        sentences = sentences[: self.max_rows]
        model = BASELINES[self.experiment.model.variant](sentences, labels[: sum(map(len, sentences))])

        def score_split(split: str) -> dict[str, float]:
            tested, truth = get_sentences_and_labels(data, split)
            predicted = model.predict(tested)
            spans = score_spans(data.label_names, predicted, truth, [len(sentence) for sentence in tested])
            predicted, truth = predicted[truth != IGNORED], truth[truth != IGNORED]
            macro_f1 = f1_score(truth, predicted, average="macro", zero_division=0.0)
            accuracy = 100.0 * float(accuracy_score(truth, predicted))
            return {"accuracy": accuracy, "macro_f1": 100.0 * float(macro_f1), **spans}

        return SimpleModel(model.num_parameters, score_split)
