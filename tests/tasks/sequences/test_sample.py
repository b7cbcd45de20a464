"""Generated sequences are the same everywhere, and hold what a model can learn."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.sequences.kinds import SESSIONS
from ctxzoo.tasks.sequences.reader import check_sequences
from ctxzoo.tasks.sequences.sample import CARE, sample_histories, sample_sessions

FROZEN = {
    sample_sessions: "94d36ffadcfd861141391443e02d47b1c0c11a24a562fca5dd8e9149aa1dcbc4",
    sample_histories: "dcd1c4b9606cfb12bb181fb45f284ef15768480954e1f12948ffa44446b15bc6",
}
each_sample = pytest.mark.parametrize("sample", FROZEN)


def _sha256(splits: Any) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in splits.items()}).encode()).hexdigest()


@each_sample
def test_the_rows_are_frozen(sample: Any) -> None:
    """Same bytes on every machine: results on the sample can be compared. A change of the rules is a new sample."""
    assert _sha256(sample()) == FROZEN[sample]


@each_sample
def test_seed_and_sizes(sample: Any) -> None:
    small = sample(seed=3, train=20, validation=7, test=1)
    assert {name: len(split) for name, split in small.items()} == {"train": 20, "validation": 7, "test": 1}
    assert _sha256(small) != _sha256(sample(seed=4, train=20, validation=7, test=1))
    larger = sample(seed=3, train=30, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    with pytest.raises(ValueError, match="seed is -1"):
        sample(seed=-1)
    one = "session" if sample is sample_sessions else "history"
    with pytest.raises(ValueError, match=f"train=0; expected 1 {one} or more"):
        sample(train=0)


def test_training_has_every_item() -> None:
    splits = check_sequences(SESSIONS, sample_sessions()).splits
    items = {name: {item for items in split["items"] for item in items} for name, split in splits.items()}
    assert len(items["train"]) == 48
    assert items["validation"] | items["test"] <= items["train"]
    assert {len(session) for session in splits["train"]["items"]} == set(range(5, 17))


def test_histories_follow_their_pauses() -> None:
    train = sample_histories(train=60)["train"]
    assert train["events"][0][:4] == ["feed", "prune", "water", "feed"]
    followed = counted = 0
    for events, times in zip(train["events"], train["timestamps"], strict=True):
        for place in range(2, len(events)):
            short = times[place - 1] - times[place - 2] < 86_400
            expected = CARE[(CARE.index(events[place - 1]) + 1) % len(CARE)] if short else "water"
            followed += events[place] == expected
            counted += 1
    assert 0.83 < followed / counted < 0.95
