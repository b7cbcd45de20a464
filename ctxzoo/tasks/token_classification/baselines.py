"""Baselines of taggers: the most frequent tag of each word, and linear models of a word, its shape and neighbours.

One of these chooses each tag alone, the other, a conditional random field, those of a sentence together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, f1_score

from ctxzoo.data.notices import format_count
from ctxzoo.metrics.spans import score_spans
from ctxzoo.models.layers_bilstm_tagger import TagSequence, WindowScores
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.models.tokenization_features import compute_word_shape
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.problem import TINY_SENTENCES
from ctxzoo.tasks.token_classification.sources import TOKENS
from ctxzoo.tasks.token_classification.wide_start import SENTENCES_AT_ONCE, fit_wide_part
from ctxzoo.training.remaining_time import RemainingTime

Labels = npt.NDArray[np.int64]  # (N,) of all words of some sentences, one sentence behind the other
Sentences = Sequence[Sequence[str]]

EPOCHS, PARTS, PENALTY = 3, 10, 1e-6  # of the linear model; after each part it is told how long the rest takes
HASHED = 2**18  # numbers of features
RANDOM_FIELD = "random_field"
FIELD_PENALTY, FIELD_ITERATIONS = 0.1, 200  # of the conditional random field
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


def extract_plain_features(sentence: Sequence[str]) -> Iterator[list[str]]:
    """Yield ten features of each word and two of each side of the sentence.

    They are those of the tutorial of sklearn-crfsuite, but for its tags of parts of speech: the word in small letters,
    its last two and three letters, whether it is in capitals, begins with one, is a number; of the word before and
    behind it the first, fourth and fifth of these.
    """
    own = [[f"l={word.lower()}", f"upper={word.isupper()}", f"title={word.istitle()}"] for word in sentence]
    edge = ["edge"]
    padded = [edge, *own, edge]
    for place, word in enumerate(sentence):
        beside = [f"{side}{one}" for side in (-1, 1) for one in padded[place + 1 + side]]
        yield [*own[place], f"s3={word[-3:]}", f"s2={word[-2:]}", f"digit={word.isdigit()}", "bias", *beside]


class RandomField:
    """A linear-chain conditional random field of the plain features of words (Lafferty et al. 2001).

    Args:
        sentences, labels: Training sentences as lists of words, and the tag number of each word.
    """

    def __init__(self, sentences: Sentences, labels: Labels) -> None:
        self.ids: dict[str, int] = {}
        for sentence in sentences:
            for features in extract_plain_features(sentence):
                for feature in features:
                    self.ids.setdefault(feature, len(self.ids) + 1)
        number = 1 + int(labels.max())
        self.wide = WindowScores(len(self.ids) + 1, 0, number, 0)
        self.sequence = TagSequence([str(tag) for tag in range(number)], True, None)
        remaining = RemainingTime(
            f"conditional random field beside it, fitted to {format_count(len(labels), 'words')}", "iterations"
        )
        batches = [(None, ids, mask, known) for _, ids, mask, known in self._list_batches(sentences, labels)]
        fit_wide_part(
            self.wide,
            self.sequence,
            batches,
            remaining.print_if_due,
            feature_penalty=FIELD_PENALTY,
            iterations=FIELD_ITERATIONS,
        )

    def _list_batches(
        self, sentences: Sentences, labels: Labels
    ) -> Iterator[tuple[Labels, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Yield the places of words among all words, the ids of features, the mask and the labels of sentences."""
        lengths = np.array([len(sentence) for sentence in sentences])
        begins = np.cumsum(lengths) - lengths
        order = np.argsort(lengths, kind="stable")
        for first in range(0, len(order), SENTENCES_AT_ONCE):
            rows = order[first : first + SENTENCES_AT_ONCE]
            offsets = np.arange(lengths[rows].max())
            mask = offsets < lengths[rows, None]
            places = np.where(mask, begins[rows, None] + offsets, 0)
            ids = [
                [self.ids.get(feature, 0) for feature in features]
                for row in rows.tolist()
                for features in extract_plain_features(sentences[row])
            ]
            features = np.zeros((*mask.shape, max(map(len, ids))), np.int64)
            features[mask] = [[*one, *[0] * (features.shape[2] - len(one))] for one in ids]
            yield (
                places[mask],
                torch.from_numpy(features),
                torch.from_numpy(mask),
                torch.from_numpy(np.where(mask, labels[places], IGNORED)),
            )

    @property
    def num_parameters(self) -> int:
        """Number of parameters that the model stores."""
        return sum(one.numel() for part in (self.wide, self.sequence) for one in part.parameters())

    @torch.no_grad()
    def predict(self, sentences: Sentences) -> Labels:
        """Return the labels of all words of sentences."""
        found = np.zeros(sum(map(len, sentences)), np.int64)
        for places, features, mask, _ in self._list_batches(sentences, found):
            scores = self.sequence.compute_best_scores(self.wide(None, features, mask), mask)
            found[places] = scores.argmax(dim=2)[mask].numpy()
        return found


BASELINES: Mapping[str, type[FrequentTags | LinearTagger | RandomField]] = MappingProxyType(
    {"most_frequent_tag": FrequentTags, "linear_tagger": LinearTagger, RANDOM_FIELD: RandomField}
)


@dataclass(frozen=True)
class TagRun(CountedRun):
    """One of `BASELINES`, fitted to the rows of train and, where these are not scored, of validation; see `CountedRun`.

    A tiny one is fitted to the first of them. The tagger beside it reads validation too: it chooses the epoch by it.
    """

    columns = ("tag_column",)
    tiny_rows = TINY_SENTENCES

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {} if self.max_rows is None else {"most_sentences": self.max_rows}

    def fit(self, data: TokenClassificationDataModule) -> SimpleModel:
        splits = [one for one in ("train", "validation") if one in data.splits and one != self.experiment.score]
        parts = [get_sentences_and_labels(data, split) for split in splits]
        sentences = [sentence for part, _ in parts for sentence in part][: self.max_rows]
        labels = np.concatenate([part for _, part in parts])
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
