from __future__ import annotations

import hashlib
import json
from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.text_classification.sample import ADJECTIVES, LABELS, NEGATED, sample_texts

FROZEN = "f399eb29e6349916d6cc5c7ff94f9ac7ebc2fe3f6e694eb89ee44bf335000e44"


@pytest.fixture(scope="module")
def corpus():
    return sample_texts()


def _sha256(corpus) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in corpus.items()}).encode()).hexdigest()


def test_the_corpus_is_frozen(corpus):
    """Same bytes on every machine: results on the sample can be compared. A change of the templates is a new corpus."""
    assert _sha256(corpus) == FROZEN


def test_sizes_labels_and_names(corpus):
    assert {name: len(split) for name, split in corpus.items()} == {"train": 2000, "validation": 300, "test": 300}
    for split in corpus.values():
        assert split.features["label"].names == list(LABELS)
        assert Counter(split["label"]) == {0: len(split) // 2, 1: len(split) // 2}


def test_seed_and_sizes():
    small = sample_texts(seed=3, train=20, validation=7, test=1)
    assert _sha256(small) == _sha256(sample_texts(seed=3, train=20, validation=7, test=1))
    assert _sha256(small) != _sha256(sample_texts(seed=4, train=20, validation=7, test=1))
    larger = sample_texts(seed=3, train=60, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    for arguments in ({"seed": -1}, {"train": 0}, {"test": 5001}):
        with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
            sample_texts(**{"train": 5, "validation": 5, "test": 5, **arguments})


def test_no_text_occurs_twice(corpus):
    texts = [text for split in corpus.values() for text in split["text"]]
    assert len(set(texts)) == len(texts)
    full = sample_texts(train=5000, validation=5000, test=5000)
    texts = [text for split in full.values() for text in split["text"]]
    assert len(set(texts)) == 15000


def test_labels_follow_from_negation_and_from_the_clause_that_counts(corpus):
    def polarity(clause: str) -> int:
        found = [label for label, words in enumerate(ADJECTIVES) for word in words if word in clause.split()]
        assert len(found) == 1, clause
        return 1 - found[0] if any(f" {words} " in clause for words in NEGATED) else found[0]

    for row in corpus["train"]:
        text = row["text"].removesuffix(" .")
        if " but " in text:
            counts = text.split(" but ")[1]
        elif " even though " in text:
            counts = text.split(" even though ")[0]
        elif "although " in text:
            counts = text.rsplit(" , ", 1)[1]
        else:
            counts = text.split(" and ")[-1]
        assert polarity(counts) == row["label"], text


def _accuracy(corpus, order: int) -> float:
    vectorizer = CountVectorizer(ngram_range=(1, order), token_pattern=r"\S+")
    model = LogisticRegression(C=10, max_iter=500)
    model.fit(vectorizer.fit_transform(corpus["train"]["text"][:]), corpus["train"]["label"][:])
    return float(model.score(vectorizer.transform(corpus["test"]["text"][:]), corpus["test"]["label"][:]))


def test_a_bag_of_words_is_not_enough_and_neighbours_are(corpus):
    assert 0.55 < _accuracy(corpus, 1) < 0.7
    assert _accuracy(corpus, 2) > 0.97


class Reader(torch.nn.Module):
    """A small recurrent classifier."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(words + 1, 32)
        self.recurrent = torch.nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.scores = torch.nn.Linear(64, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.scores(self.recurrent(self.embedding(ids))[0].amax(1))


@pytest.mark.slow
def test_a_small_reader_learns_it_in_a_few_passes(corpus):
    words = {word: 1 for split in corpus.values() for text in split["text"] for word in text.split()}
    index = {word: number for number, word in enumerate(sorted(words), start=1)}

    def tensors(split: str) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [[index[word] for word in text.split()] for text in corpus[split]["text"]]
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        return torch.from_numpy(ids), torch.tensor(corpus[split]["label"][:])

    ids, labels = tensors("train")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Reader(len(index))
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(6):
            for rows in torch.randperm(len(ids)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(ids[rows]), labels[rows]).backward()
                optimizer.step()
    ids, labels = tensors("test")
    with torch.no_grad():
        assert (model(ids).argmax(1) == labels).float().mean() > 0.97
