from __future__ import annotations

import hashlib
import json

import pytest

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.language_modelling.reader import NOUNS, VERBS, check_lines, sample_text

FROZEN = "cb598821bb0b3866d01e2cc09ee29aae8f168b73738ece325bccabcfce164742"


def _sha256(text) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in text.items()}).encode()).hexdigest()


def test_the_text_is_frozen():
    """Same bytes on every machine: results on the sample can be compared. A change of the rules is new text."""
    assert _sha256(sample_text()) == FROZEN


def test_seed_and_sizes():
    small = sample_text(seed=3, train=20, validation=7, test=1)
    assert {name: len(split) for name, split in small.items()} == {"train": 20, "validation": 7, "test": 1}
    assert _sha256(small) != _sha256(sample_text(seed=4, train=20, validation=7, test=1))
    larger = sample_text(seed=3, train=30, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    for arguments in ({"seed": -1}, {"train": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(arguments))}.*{next(iter(arguments.values()))}"):
            sample_text(**arguments)


def test_every_verb_agrees_with_its_noun():
    for line in check_lines(sample_text(train=200)).splits["train"]["text"]:
        words = line.split()
        (is_plural,) = {word in [noun[1] for noun in NOUNS] for word in words if any(word in noun for noun in NOUNS)}
        (verb_is_plural,) = {
            word in [verb[1] for verb in VERBS] for word in words if any(word in verb[:2] for verb in VERBS)
        }
        assert is_plural == verb_is_plural
        assert words[-1] == "."
