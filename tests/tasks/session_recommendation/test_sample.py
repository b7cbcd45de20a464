from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.session_recommendation.reader import check_sessions
from ctxzoo.tasks.session_recommendation.sample import sample_sessions

FROZEN = "94d36ffadcfd861141391443e02d47b1c0c11a24a562fca5dd8e9149aa1dcbc4"


def _sha256(sessions: Any) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in sessions.items()}).encode()).hexdigest()


def test_the_sessions_are_frozen() -> None:
    """Same bytes on every machine: results on the sample can be compared. A change of the rules is a new sample."""
    assert _sha256(sample_sessions()) == FROZEN


def test_seed_and_sizes() -> None:
    small = sample_sessions(seed=3, train=20, validation=7, test=1)
    assert {name: len(split) for name, split in small.items()} == {"train": 20, "validation": 7, "test": 1}
    assert _sha256(small) != _sha256(sample_sessions(seed=4, train=20, validation=7, test=1))
    larger = sample_sessions(seed=3, train=30, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    with pytest.raises(ValueError, match="seed is -1"):
        sample_sessions(seed=-1)
    with pytest.raises(ValueError, match="train=0; expected 1 session or more"):
        sample_sessions(train=0)


def test_training_has_every_item() -> None:
    splits = check_sessions(sample_sessions()).splits
    items = {name: {item for items in split["items"] for item in items} for name, split in splits.items()}
    assert len(items["train"]) == 48
    assert items["validation"] | items["test"] <= items["train"]
    assert {len(session) for session in splits["train"]["items"]} == set(range(5, 17))
