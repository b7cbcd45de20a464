"""The start of a tagger's wide part: the optimum of its loss over all sequences, and what a training does with it."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.models.layers_bilstm_tagger import TagSequence, WindowScores
from ctxzoo.tasks.token_classification import wide_start
from ctxzoo.tasks.token_classification.experiments import build_default_experiment
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from tests.tasks.token_classification.test_span_training import write_names

TAGS = ["O", "B-X", "I-X"]


def test_no_other_weights_are_more_probable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the penalized loss, from all sequences one by one, is 0 where the fit ends."""
    monkeypatch.setattr(wide_start, "TOLERANCE", 1e-14)
    generator = torch.Generator().manual_seed(0)
    wide = WindowScores(6, 2, len(TAGS), 1).double()
    sequence = TagSequence(TAGS, True, "IOB2").double()
    mask = torch.arange(3) < torch.tensor([3, 1, 2, 3]).unsqueeze(1)
    features = torch.randint(0, 6, (4, 3, 2), generator=generator)
    vectors = torch.randn(4, 3, 2, generator=generator, dtype=torch.float64) * mask.unsqueeze(-1)
    labels = torch.randint(0, 3, (4, 3), generator=generator)
    labels[3, 1] = -100  # every tag is right there
    halves = [tuple(one[rows] for one in (vectors, features, mask, labels)) for rows in (slice(2), slice(2, 4))]
    wide_start.fit_wide_part(wide, sequence, halves, iterations=500)
    scores = wide(vectors, features, mask)
    loss = wide.features.table.weight.square().sum() * wide_start.FEATURE_PENALTY / 2
    loss = loss + wide.vector_weight.square().sum() * wide_start.VECTOR_PENALTY / 2
    loss = loss + sum(one.square().sum() for one in sequence.parameters()) * wide_start.TRANSITION_PENALTY / 2
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        every, right = [], []
        for tags in product(range(3), repeat=length):
            value = sequence.begin[tags[0]] + sequence.end[tags[-1]] + scores[row, range(length), tags].sum()
            every.append(value + sum(sequence.between[one, other] for one, other in pairwise(tags)))
            if all(label in (-100, tag) for label, tag in zip(labels[row].tolist(), tags, strict=False)):
                right.append(every[-1])
        loss = loss + torch.stack(every).logsumexp(0) - torch.stack(right).logsumexp(0)
    parameters = [*wide.parameters(), *sequence.parameters()]
    gradients = torch.autograd.grad(loss, parameters)
    assert all(one.abs().max() > 0.1 for one in parameters)
    assert all(one.abs().max() < 1e-4 for one in gradients)


def build(folder: Path, **changes: Any) -> tuple[Any, Any, Any]:
    """Return experiment, data and task of the default tagger on sentences of `write_names`."""
    write_names(folder / "train.conll", 100)
    write_names(folder / "validation.conll", 20)
    write_names(folder / "test.conll", 20)
    values = {"word_vectors": None, "vector_words": 0, "recurrent_size": 5, "projection_size": 5, "crf": True}
    experiment = build_default_experiment("bilstm_tagger", "bilstm_tagger").copy_with(
        dataset=str(folder), tag_column="tags", **{**values, **changes}
    )
    data = TOKEN_CLASSIFICATION.build_data_module(experiment)
    data.setup()
    return experiment, data, TOKEN_CLASSIFICATION.build_module(experiment, data)


def test_the_wide_part_finds_the_names_before_the_network_is_trained(tmp_path: Path) -> None:
    experiment, data, task = build(tmp_path)
    model = task.model
    for parameter in model.classifier.parameters():
        torch.nn.init.zeros_(parameter)
    assert not any(one.requires_grad for part in (model.wide, model.sequence) for one in part.parameters())
    assert all(one.requires_grad for part in (model.tagger, model.classifier) for one in part.parameters())
    fitted = [one.clone() for one in model.wide.parameters()]
    torch.nn.init.ones_(model.classifier.bias)
    scores = TOKEN_CLASSIFICATION.score(experiment, task, data, ("validation", "test"))
    assert scores["validation"]["span_f1"] == scores["test"]["span_f1"] == 100
    assert torch.equal(model.classifier.bias, torch.full_like(model.classifier.bias, wide_start.NETWORK_SHARE))
    assert not all(map(torch.equal, fitted, model.wide.parameters()))  # fitted to validation too


def test_what_is_no_span_has_no_fitted_start(tmp_path: Path) -> None:
    _, _, task = build(tmp_path, crf=False)
    assert all(one.requires_grad for one in task.model.wide.parameters())
    assert not any(one.any() for one in task.model.wide.parameters())
