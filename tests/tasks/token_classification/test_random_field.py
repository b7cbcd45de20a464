"""The conditional random field beside taggers: its features, and tags that only the tags around tell."""

from __future__ import annotations

import numpy as np

from ctxzoo.tasks.token_classification.baselines import RandomField, extract_plain_features


def test_the_features_of_a_sentence_written_out() -> None:
    first, last = extract_plain_features(["Bonn", "42"])
    assert first == [
        *("l=bonn", "upper=False", "title=True", "s3=onn", "s2=nn", "digit=False", "bias"),
        *("-1edge", "1l=42", "1upper=False", "1title=False"),
    ]
    assert last == [
        *("l=42", "upper=False", "title=False", "s3=42", "s2=42", "digit=True", "bias"),
        *("-1l=bonn", "-1upper=False", "-1title=True", "1edge"),
    ]


def test_tags_of_a_sentence_are_chosen_together() -> None:
    """Words of one kind have turns of two tags, from the first word on: only the tag before tells which."""
    generator = np.random.default_rng(0)
    sentences = [["x"] * int(length) for length in generator.integers(1, 9, 60)]
    labels = np.concatenate([np.arange(len(sentence)) % 2 for sentence in sentences])
    model = RandomField(sentences[:40], labels[: sum(map(len, sentences[:40]))])
    rest = sentences[40:]
    assert model.predict(rest).tolist() == labels[-sum(map(len, rest)) :].tolist()
    assert model.num_parameters == (1 + 7 + 2 * 4) * 2 + 4 + 2 + 2
    assert model.predict([["new", "X1", "x"]]).shape == (3,)
