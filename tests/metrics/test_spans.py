"""Scores of spans against an independent reading of tags, one by one, as conlleval reads them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch

from ctxzoo.metrics.spans import SpanScores, score_spans
from ctxzoo.models.ops_bilstm_tagger import choose_scheme, find_forbidden_transitions, recognise_scheme

LETTERS = {"BIO": "BI", "BIOES": "BIES", "BILOU": "BILU"}


def tags_of(scheme: str) -> list[str]:
    return ["O", *(f"{letter}-{label}" for label in ("PER", "ORG") for letter in LETTERS[scheme])]


def read_spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """First word, last word and label of each span: a state machine over one sentence."""
    spans, start = set(), None
    for place, tag in enumerate([*tags, "O"]):
        letter, _, label = tag.replace("L-", "E-").replace("U-", "S-").partition("-")
        goes_on = start is not None and letter in ("I", "E") and label == start[1]
        if start is not None and not goes_on:
            spans.add((start[0], place - 1, start[1]))
            start = None
        if letter != "O" and start is None:
            start = (place, label)
        if start is not None and letter in ("E", "S"):
            spans.add((start[0], place, start[1]))
            start = None
    return spans


def score_by_hand(predicted: list[list[str]], true: list[list[str]], label: str | None = None) -> list[float]:
    """F1, precision and recall in percent, and the number of true spans."""
    right = found = wanted = 0
    for one, other in zip(predicted, true, strict=True):
        here, there = ({span for span in read_spans(tags) if label in (None, span[2])} for tags in (one, other))
        right, found, wanted = right + len(here & there), found + len(here), wanted + len(there)
    return [200 * right / max(1, found + wanted), 100 * right / max(1, found), 100 * right / max(1, wanted), wanted]


@pytest.mark.parametrize("scheme", LETTERS)
def test_scores_of_random_tags_in_batches(scheme: str) -> None:
    draws, tags = random.Random(0), tags_of(scheme)
    lengths = [draws.randrange(1, 9) for _ in range(400)]
    true = [[draws.choice(tags) for _ in range(length)] for length in lengths]
    predicted = [[tag if draws.random() < 0.7 else draws.choice(tags) for tag in sentence] for sentence in true]
    scores = SpanScores(tags)
    for begin in range(0, 400, 7):
        rows = [
            torch.nn.utils.rnn.pad_sequence(
                [torch.tensor([tags.index(tag) for tag in sentence]) for sentence in part[begin : begin + 7]],
                batch_first=True,
                padding_value=-100,
            )
            for part in (predicted, true)
        ]
        scores.update(rows[0].clamp(min=0), rows[1], rows[1] >= 0)
    found = scores.compute()
    for label, end in ((None, ""), ("PER", "_PER"), ("ORG", "_ORG")):
        names = [f"{name}{end}" for name in ("span_f1", "span_precision", "span_recall", "spans")]
        assert [found[name] for name in names] == pytest.approx(score_by_hand(predicted, true, label))
    flat = [np.array([tags.index(tag) for sentence in part for tag in sentence]) for part in (predicted, true)]
    assert score_spans(tags, *flat, lengths) == found


def test_the_example_of_conlleval() -> None:
    true = ["O", "B-PER", "I-PER", "O", "B-ORG"]
    predicted = ["O", "B-PER", "O", "O", "I-ORG"]  # half a name is none; I- at the beginning begins a span
    assert score_by_hand([predicted], [true]) == [50, 50, 50, 2]
    tags = tags_of("BIO")
    numbers = [np.array([tags.index(tag) for tag in row]) for row in (predicted, true)]
    scores = score_spans(tags, *numbers, [5])
    assert (scores["span_f1"], scores["span_f1_ORG"], scores["span_f1_PER"], scores["spans"]) == (50, 100, 0, 2)


def test_a_word_without_a_tag_ends_a_span() -> None:
    tags = tags_of("BIO")
    scores = SpanScores(tags)
    row = torch.tensor([[1, 2, 2, 2]])
    scores.update(row, torch.tensor([[1, 2, -100, 2]]), torch.tensor([[True, True, False, True]]))
    assert scores.compute()["spans"] == 2


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["O", "B-PER", "I-PER"], "BIO"),
        (["O", "I-PER"], "BIO"),
        (["B-NP", "I-NP"], "BIO"),
        (["O", "B-X", "I-X", "E-X", "S-X"], "BIOES"),
        (["O", "B-X", "I-X", "L-X", "U-X"], "BILOU"),
        (["O", "B-X", "E-X", "U-X"], None),  # of two schemes
        (["NN", "O", "B-PER"], None),
        (["B-PER", "B-ORG"], None),
        (["O", "S-X"], None),
        (["O"], None),
    ],
)
def test_schemes_are_recognised_by_their_tags(tags: list[str], scheme: str | None) -> None:
    assert recognise_scheme(tags) == scheme


def test_iob1_is_told_from_iob2_by_sentences() -> None:
    tags = ["O", "B-PER", "I-PER"]
    assert choose_scheme(tags, [[0, 2, 2, 1, 2, 0], [2, 0]]) == "IOB1"
    assert choose_scheme(tags, [[0, 1, 2, 1, 2, 0], [-100, 2, 0]]) == "IOB2"
    assert choose_scheme(["NN", "VB"], [[0, 1]]) is None


@pytest.mark.parametrize(
    ("scheme", "good", "bad"),
    [
        ("IOB2", ["O B-X I-X B-X", "B-X B-Y I-Y"], ["I-X", "O I-X", "B-X I-Y"]),
        ("IOB1", ["I-X I-X B-X I-X", "I-X I-Y", "O I-X O"], ["B-X", "O B-X", "I-X B-Y"]),
        ("BIOES", ["S-X B-X I-X E-X O", "B-X E-X S-Y"], ["B-X", "B-X O", "I-X", "B-X S-X", "B-X E-Y", "O E-X"]),
        ("BILOU", ["U-X B-X L-X"], ["B-X U-X", "L-X", "B-X B-X"]),
    ],
)
def test_what_a_scheme_forbids(scheme: str, good: list[str], bad: list[str]) -> None:
    letters = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}[scheme]
    tags = ["O", *(f"{letter}-{label}" for label in "XY" for letter in letters)]
    between, begin, end = find_forbidden_transitions(tags, scheme)  # type: ignore[arg-type]

    def is_forbidden(text: str) -> bool:
        numbers = [tags.index(tag) for tag in text.split()]
        pairs = any(between[one][other] for one, other in pairwise(numbers))
        return pairs or begin[numbers[0]] or end[numbers[-1]]

    assert [is_forbidden(text) for text in good] == [False] * len(good)
    assert [is_forbidden(text) for text in bad] == [True] * len(bad)


def test_tags_that_are_none_of_spans() -> None:
    with pytest.raises(ValueError, match=r"the tags \['NN', 'VB'\] are none of spans; expected O, and B- and I-"):
        SpanScores(["NN", "VB"])
    with pytest.raises(ValueError, match=r"IOB2 has no tag 'E-X'; expected O or B, I before a label"):
        find_forbidden_transitions(["O", "E-X"], "IOB2")
