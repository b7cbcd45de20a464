"""The CRF and the allowed sequences of tags against all sequences, one by one, in float64."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.models.layers_bilstm_tagger import TagSequence
from ctxzoo.models.modeling_bilstm_tagger import BilstmTaggerForTokenClassification
from ctxzoo.models.ops_bilstm_tagger import find_forbidden_transitions
from ctxzoo.training.classification import label_fields

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
LENGTHS = (4, 1, 3)


def make_case(scheme: Any) -> tuple[TagSequence, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    layer = TagSequence(TAGS, True, scheme).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    mask = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)
    return layer, 2 * torch.randn(3, 4, 5, dtype=torch.float64), mask


def score_by_hand(layer: TagSequence, scores: torch.Tensor, sequence: tuple[int, ...]) -> float:
    total = layer.begin[sequence[0]] + layer.end[sequence[-1]] + scores[range(len(sequence)), sequence].sum()
    return float(total + sum(layer.between[one, other] for one, other in pairwise(sequence)))


def is_allowed(sequence: tuple[int, ...], scheme: Any) -> bool:
    if scheme is None:
        return True
    between, begin, end = find_forbidden_transitions(TAGS, scheme)
    pairs = any(between[one][other] for one, other in pairwise(sequence))
    return not (pairs or begin[sequence[0]] or end[sequence[-1]])


@pytest.mark.parametrize("scheme", [None, "IOB1", "IOB2"])
def test_best_scores_are_those_of_all_allowed_sequences(scheme: Any) -> None:
    layer, scores, mask = make_case(scheme)
    with torch.no_grad():
        found = layer.compute_best_scores(scores, mask)
        for row, length in enumerate(LENGTHS):
            sequences = [one for one in product(range(5), repeat=length) if is_allowed(one, scheme)]
            valued = {one: score_by_hand(layer, scores[row], one) for one in sequences}
            for place in range(length):
                for tag in range(5):
                    values = [value for one, value in valued.items() if one[place] == tag]
                    if values:  # a tag that no allowed sequence has there is far below
                        assert float(found[row, place, tag]) == pytest.approx(max(values), rel=1e-12)
                    else:
                        assert found[row, place, tag] < -1_000
            assert tuple(found[row, :length].argmax(dim=1).tolist()) == max(valued, key=valued.__getitem__)
            assert torch.equal(found[row, length:], scores[row, length:])


def test_loss_and_its_gradient_are_those_of_all_sequences() -> None:
    layer, scores, mask = make_case("IOB2")
    labels = torch.tensor(
        [[2, -100, 1, 4], [3, 0, 0, 0], [0, 1, 2, -100]]
    )  # against the scheme, and whatever at padding
    scores.requires_grad_()
    layer.compute_loss(scores, labels, mask).backward()
    parts = []
    again = scores.detach().clone().requires_grad_()
    for row, length in enumerate(LENGTHS):
        values, right = [], []
        for one in product(range(5), repeat=length):
            total = layer.begin[one[0]] + layer.end[one[-1]] + again[row, range(length), one].sum()
            total = total + sum(layer.between[a, b] for a, b in pairwise(one))
            values.append(total)
            if all(label in (-100, tag) for label, tag in zip(labels[row, :length].tolist(), one, strict=True)):
                right.append(total)
        parts.append(torch.logsumexp(torch.stack(values), 0) - torch.logsumexp(torch.stack(right), 0))
    expected = torch.stack(parts).sum() / 7
    torch.testing.assert_close(layer.compute_loss(scores, labels, mask), expected, rtol=1e-12, atol=0)
    expected.backward()
    torch.testing.assert_close(scores.grad, again.grad, rtol=1e-10, atol=1e-12)


def test_a_tagger_keeps_its_scheme_through_saving(tmp_path: Path) -> None:
    sizes = {"vocab_size": 20, "word_dim": 6, "recurrent_size": 3, "projection_size": 5, "embedding_bound": 1.0}
    config = BilstmTaggerConfig(**sizes, crf=True, scheme="IOB2", **label_fields(TAGS))
    torch.manual_seed(1)
    model = BilstmTaggerForTokenClassification(config).eval()
    torch.nn.init.normal_(model.sequence.between)
    model.classifier.bias.data[2] = 9  # by itself every word would be I-X
    ids = torch.randint(1, 20, (40, 7))
    with torch.no_grad():
        logits = model(ids).logits
        words = model.classifier(model.tagger(ids)[0])
    assert all(is_allowed(tuple(row), "IOB2") for row in logits.argmax(dim=2).tolist())
    assert not all(is_allowed(tuple(row), "IOB2") for row in words.argmax(dim=2).tolist())
    model.save_pretrained(tmp_path)
    loaded = BilstmTaggerForTokenClassification.from_pretrained(tmp_path)
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, logits)
        plain = BilstmTaggerForTokenClassification(BilstmTaggerConfig(**sizes, **label_fields(TAGS)))
    assert not any("sequence" in name for name in plain.state_dict())


def test_a_scheme_that_the_tags_do_not_have() -> None:
    config = BilstmTaggerConfig(vocab_size=9, scheme="IOB2", **label_fields(["O", "NN"]))
    with pytest.raises(ValueError, match="'NN' is no tag of spans; expected O, or B-, I-"):
        BilstmTaggerForTokenClassification(config)
