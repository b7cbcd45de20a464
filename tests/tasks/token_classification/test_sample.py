from __future__ import annotations

import hashlib
import json
from collections import defaultdict

import pytest

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.token_classification.sources import AMBIGUOUS, COARSE, sample_tags

FROZEN = "c8c045126d88a4aee45d347d6cdd0242f5ac138873737373d197d1a4d30fb544"


@pytest.fixture(scope="module")
def corpus():
    return sample_tags()


def _sha256(corpus) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in corpus.items()}).encode()).hexdigest()


def test_the_corpus_is_frozen(corpus):
    """Same bytes on every machine: results on the sample can be compared. A change of the grammar is a new corpus."""
    assert _sha256(corpus) == FROZEN


def test_seed_and_sizes(corpus):
    assert {name: len(split) for name, split in corpus.items()} == {"train": 1000, "validation": 200, "test": 200}
    small = sample_tags(seed=3, train=20, validation=7, test=1)
    assert _sha256(small) != _sha256(sample_tags(seed=4, train=20, validation=7, test=1))
    larger = sample_tags(seed=3, train=60, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    for arguments in ({"seed": -1}, {"train": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(arguments))}.*{next(iter(arguments.values()))}"):
            sample_tags(**arguments)


def test_every_word_has_a_tag_and_its_coarse_one(corpus):
    for split in corpus.values():
        for row in split:
            assert len(row["tokens"]) == len(row["pos_tags"]) == len(row["upos"]) >= 3
            assert row["upos"] == [COARSE[tag] for tag in row["pos_tags"]]
            assert row["tokens"][-1] == "."


def test_a_word_alone_does_not_tell_its_tag_and_many_names_are_new(corpus):
    tags = defaultdict(set)
    for row in corpus["train"]:
        for word, tag in zip(row["tokens"], row["pos_tags"], strict=True):
            tags[word].add(tag)
    assert all(tags[word] == {"NN", "VB"} for word in AMBIGUOUS)
    test = [pair for row in corpus["test"] for pair in zip(row["tokens"], row["pos_tags"], strict=True)]
    names = [word for word, tag in test if tag == "NNP"]
    assert sum(word not in tags for word in names) > 0.5 * len(names) > 20
    assert all(word in tags for word, tag in test if tag not in ("NNP", "CD"))
