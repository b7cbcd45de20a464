"""Models of votes to compare NIPEN with, against references in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction

NAN = float("nan")
SIZES: dict[str, Any] = {"num_legislators": 4, "num_bills": 6, "vocab_size": 7, "factors": 3, "hidden_widths": [6, 5]}
KINDS = ("ideal_point", "autorec", "cdae", "trust_svd", "cdl")


def model_of(kind: str, **fields: Any) -> Any:
    """A model in float64 and evaluation mode, away from where it starts: biases would be 0."""
    torch.manual_seed(0)
    model = VoteBaselineForVotePrediction(VoteBaselineConfig(**{**SIZES, "kind": kind, **fields})).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def batch_of() -> dict[str, torch.Tensor]:
    votes = torch.tensor([[1, 0, NAN, 1], [NAN, NAN, 0, 0]], dtype=torch.float64)
    return {
        "bag_of_words": torch.tensor([[1, 0, 2, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 0]], dtype=torch.float64),
        "bill_ids": torch.tensor([4, 1]),
        "votes": votes,
        "labels": votes.clone(),
    }


def signs_of(votes: torch.Tensor) -> torch.Tensor:
    return (2 * votes - 1).nan_to_num()


def nats_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softplus((1 - 2 * labels) * logits).nansum()


def squares(*tensors: torch.Tensor) -> torch.Tensor:
    return torch.stack([each.square().sum() for each in tensors]).sum()


@pytest.mark.parametrize("with_network", [False, True])
def test_ideal_point(with_network: bool) -> None:
    model, batch = model_of("ideal_point", ridge=0.5, trust_ridge=0.3, with_network=with_network), batch_of()
    points = model.votes.points if with_network else model.votes
    x, a, b = points.legislators.weight, points.bills.weight, points.bias.weight
    logits = torch.stack([(x * a[bill]).sum(dim=1) + b[bill] for bill in (4, 1)])
    penalty = 0.5 * (squares(a[[4, 1]], b[[4, 1]]) + 2 / 6 * squares(x))
    if with_network:
        tau = model.votes.trust.weight
        logits = logits + signs_of(batch["votes"]) @ (tau * ~torch.eye(4, dtype=torch.bool)).t()
        penalty = penalty + 0.3 * 2 / 6 * squares(tau)
    found = model(**batch)
    torch.testing.assert_close(found.logits, logits)
    torch.testing.assert_close(found.loss, (nats_of(logits, batch["labels"]) + 0.5 * penalty) / 5)


def test_autorec() -> None:
    model, batch = model_of("autorec"), batch_of()
    hidden = signs_of(batch["votes"])
    layers = [*model.votes.autoencoder.encoder, *model.votes.autoencoder.decoder]
    for layer in layers[:-1]:
        hidden = torch.relu(layer(hidden))
    found = model(**batch)
    torch.testing.assert_close(found.logits, layers[-1](hidden))
    errors = (found.logits.sigmoid() - batch["labels"]).square().nansum()
    torch.testing.assert_close(found.loss, 0.5 * (errors + 2 / 6 * squares(*model.parameters())) / 5)


@pytest.mark.parametrize("training", [False, True])
def test_cdae(training: bool) -> None:
    """In training some of the votes that it reads are left out, none of those that it is to predict."""
    model, batch = model_of("cdae", ridge=0.5, corruption_level=0.8).train(training), batch_of()
    parts, read = model.votes, []
    parts.inner.register_forward_hook(lambda _module, inputs, _output: read.append(inputs[0]))
    found = model(**batch)
    signs = signs_of(batch["votes"])
    assert ((read[0] == signs) | (read[0] == 0)).all()
    assert torch.equal(read[0], signs) != training
    of_bill = parts.bills.weight[[4, 1]]
    hidden = torch.sigmoid(read[0] @ parts.inner.weight.t() + parts.inner.bias + of_bill)
    torch.testing.assert_close(found.logits, hidden @ parts.outer.weight.t() + parts.outer.bias)
    penalty = 2 / 6 * squares(*parts.inner.parameters(), *parts.outer.parameters()) + squares(of_bill)
    nats = nats_of(found.logits, batch["labels"])
    torch.testing.assert_close(found.loss, (nats + 0.5 * 0.5 * penalty) / 5)


def test_trust_svd() -> None:
    model, batch = model_of("trust_svd", ridge=0.5, trust_ridge=0.3), batch_of()
    voted = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], *[[0, 0, 0, 0]] * 3, [0, 0, 0, 1]]).bool()
    model.set_observed_votes(torch.where(voted, 1.0, NAN))
    parts = model.votes
    assert parts.mask.tolist() == [
        [False, True, False, False],
        [True, False, True, False],
        [False, True, False, False],
        [False] * 4,
    ]
    p, q, y, w = (table.weight for table in (parts.legislators, parts.bills, parts.voted, parts.trusted))
    known = torch.stack(
        [p[0] + y[0] + w[1], p[1] + (y[0] + y[1] + w[0] + w[2]) / 2**0.5, p[2] + y[1] + w[1], p[3] + y[5]]
    )
    found = model(**batch)
    mu, of_user, of_bill = (table.weight for table in (parts.mean, parts.legislator_bias, parts.bill_bias))
    biases = torch.stack([mu + of_user + of_bill[bill] for bill in (4, 1)])
    torch.testing.assert_close(found.logits, biases + q[[4, 1]] @ known.t())
    trust = sum((1 - (w[other] @ p[one])) ** 2 for one, other in ((0, 1), (1, 0), (1, 2), (2, 1)))
    errors = (found.logits.sigmoid() - batch["labels"]).square().nansum()
    penalty = 2 / 6 * squares(p, w, y, of_user) + squares(q[[4, 1]], of_bill[[4, 1]])
    torch.testing.assert_close(found.loss, 0.5 * (errors + 0.5 * penalty + 2 / 6 * 0.3 * trust) / 5)


def test_cdl_reads_texts_of_new_bills() -> None:
    model, batch = model_of("cdl"), batch_of()
    hidden = batch["bag_of_words"].log1p()
    for layer in model.votes.autoencoder.encoder:
        hidden = torch.relu(layer(hidden))
    users, bills = model.votes.legislators.weight, model.votes.bills.weight
    torch.testing.assert_close(model(**batch).logits, (hidden + bills[[4, 1]]) @ users.t())
    new = {name: x for name, x in batch.items() if name != "bill_ids"}
    torch.testing.assert_close(model(**new).logits, hidden @ users.t())
    assert model.reads_new_bills


@pytest.mark.parametrize("training", [False, True])
def test_cdl_makes_the_whole_texts_again(training: bool) -> None:
    """Also in training, where a part of what it reads of them is left out."""
    fields = {"ridge": 0.5, "text_weight": 0.3, "corruption_level": 0.8}
    model, batch = model_of("cdl", **fields).train(training), batch_of()
    parts, seen = model.votes, []
    parts.autoencoder.register_forward_hook(lambda _module, inputs, output: seen.append((inputs[0], output[2])))
    found = model(**batch)
    ((dirty, rebuilt),) = seen
    text = batch["bag_of_words"].log1p()
    assert ((dirty == text) | (dirty == 0)).all()
    assert torch.equal(dirty, text) != training
    errors = (found.logits.sigmoid() - batch["labels"]).square().nansum()
    shared = squares(parts.legislators.weight, *parts.autoencoder.parameters())
    penalty = 2 / 6 * shared + squares(parts.bills.weight[[4, 1]])
    expected = 0.5 * (errors + 0.5 * penalty + 0.3 * squares(rebuilt - text)) / 5
    torch.testing.assert_close(found.loss, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_votes_that_are_not_known_count_for_nothing(kind: str) -> None:
    model, batch = model_of(kind, ridge=0, trust_ridge=0, text_weight=0), batch_of()
    whole = model(**batch).loss
    batch["labels"][0, 0] = NAN
    rest = model(**batch).loss
    seen = {name: x for name, x in batch.items() if name != "labels"}
    only = torch.full_like(batch["labels"], NAN)
    only[0, 0] = 1
    torch.testing.assert_close(5 * whole, 4 * rest + model(**seen, labels=only).loss)


@pytest.mark.parametrize(("kind", "fields"), [*((kind, {}) for kind in KINDS), ("ideal_point", {"with_network": True})])
def test_without_a_vote_the_loss_is_the_penalty(kind: str, fields: dict[str, Any]) -> None:
    """It is divided by 1: what each of two sets of votes has beside their errors, which both together have once."""
    model, batch = model_of(kind, **fields), batch_of()
    first, second, none = (torch.full_like(batch["labels"], NAN) for _ in range(3))
    first[0], second[1] = batch["labels"]
    lost = [model(**{**batch, "labels": labels}).loss for labels in (batch["labels"], first, second, none)]
    torch.testing.assert_close(lost[3], 3 * lost[1] + 2 * lost[2] - 5 * lost[0])
    model.train()(**{**batch, "labels": none}).loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cdl"])
def test_new_bills_are_refused(kind: str) -> None:
    batch = batch_of()
    with pytest.raises(ValueError, match=f"bill id -1: {kind} knows the bills of its training alone"):
        model_of(kind)(**{**batch, "bill_ids": torch.tensor([-1, 1])})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "cdl", "with_network": True}, "with_network=True with kind='cdl'"),
        ({"factors": 0}, "factors must be at least 1, got 0"),
        ({"ridge": -1}, "ridge must be 0 or above, got -1"),
        ({"hidden_widths": [4, 0]}, "hidden_widths must be one width or more"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
    ],
)
def test_configs_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        VoteBaselineConfig(**{**SIZES, **fields})


def test_ideal_points_start_from_the_principal_components_of_the_votes() -> None:
    drawn = torch.manual_seed(3)
    votes = (torch.rand(6, 4, generator=drawn) < 0.5).float()
    votes[torch.rand(6, 4, generator=drawn) < 0.2] = NAN
    model = model_of("ideal_point", factors=2)
    model.set_observed_votes(votes)
    array = 2 * votes.double().numpy() - 1
    centred = np.nan_to_num(array - np.nanmean(array, axis=1, keepdims=True))
    expected = np.linalg.svd(centred)[2][:2]
    found = model.votes.legislators.weight.detach().numpy().T
    assert np.abs(np.sum(expected * found, axis=1)) == pytest.approx([0.1 * 4**0.5] * 2)
    assert np.linalg.norm(found, axis=1) == pytest.approx([0.1 * 4**0.5] * 2)


def test_more_factors_than_legislators_and_bills_without_votes_start_too() -> None:
    model = model_of("ideal_point", factors=5)
    before = model.votes.legislators.weight.detach().clone()
    model.set_observed_votes(torch.full((6, 4), NAN))
    after = model.votes.legislators.weight
    assert after.isfinite().all()
    assert torch.equal(after[:, 4], before[:, 4])
