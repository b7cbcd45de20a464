"""Models of votes to compare NIPEN with, against references in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction

NAN = float("nan")
SIZES: dict[str, Any] = {"num_legislators": 4, "num_bills": 6, "vocab_size": 7, "factors": 3, "hidden_widths": [6, 5]}
KINDS = ("ideal_point", "autorec", "cdae", "trust_svd", "cdl")


def model_of(kind: str, **fields: Any) -> Any:
    torch.manual_seed(0)
    return VoteBaselineForVotePrediction(VoteBaselineConfig(**{**SIZES, "kind": kind, **fields})).double().eval()


def batch_of() -> dict[str, torch.Tensor]:
    votes = torch.tensor([[1, 0, NAN, 1], [NAN, NAN, 0, 0]], dtype=torch.float64)
    return {
        "bag_of_words": torch.tensor([[1, 0, 2, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 0]], dtype=torch.float64),
        "bill_ids": torch.tensor([4, 1]),
        "votes": votes,
        "labels": votes.clone(),
    }


def test_ideal_point() -> None:
    model, batch = model_of("ideal_point", ridge=0.5), batch_of()
    x, a, b = model.votes.legislators.weight, model.votes.bills.weight, model.votes.bias.weight
    logits = torch.stack([(x * a[bill]).sum(dim=1) + b[bill] for bill in (4, 1)])
    found = model(**batch)
    torch.testing.assert_close(found.logits, logits)
    nats = sum(
        torch.nn.functional.softplus(-logit if vote else logit)
        for logit, vote in zip(logits.flatten(), batch["labels"].flatten(), strict=True)
        if vote == vote
    )
    penalty = a[[4, 1]].square().sum() + b[[4, 1]].square().sum() + 2 / 6 * x.square().sum()
    torch.testing.assert_close(found.loss, (nats + 0.25 * penalty) / 5)


def test_ideal_point_with_network_reads_the_votes_of_others() -> None:
    model, batch = model_of("ideal_point", with_network=True), batch_of()
    alone = model(**{name: x for name, x in batch.items() if name != "votes"}).logits
    tau = model.votes.trust.weight * ~torch.eye(4, dtype=torch.bool)
    signs = (2 * batch["votes"] - 1).nan_to_num()
    torch.testing.assert_close(model(**batch).logits, alone + signs @ tau.t())


def test_autorec() -> None:
    model, batch = model_of("autorec"), batch_of()
    hidden = (2 * batch["votes"] - 1).nan_to_num()
    layers = [*model.votes.autoencoder.encoder, *model.votes.autoencoder.decoder]
    for layer in layers[:-1]:
        hidden = torch.relu(layer(hidden))
    found = model(**batch)
    torch.testing.assert_close(found.logits, layers[-1](hidden))
    errors = (found.logits.sigmoid() - batch["labels"]).square().nansum()
    weights = sum(parameter.square().sum() for parameter in model.parameters())
    torch.testing.assert_close(found.loss, 0.5 * (errors + 2 / 6 * weights) / 5)


def test_cdae() -> None:
    model, batch = model_of("cdae"), batch_of()
    signs = (2 * batch["votes"] - 1).nan_to_num()
    hidden = torch.sigmoid(model.votes.inner(signs) + model.votes.bills.weight[[4, 1]])
    torch.testing.assert_close(model(**batch).logits, model.votes.outer(hidden))


def test_trust_svd() -> None:
    model, batch = model_of("trust_svd", ridge=0, trust_ridge=0.3), batch_of()
    voted = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], *[[0, 0, 0, 0]] * 3, [0, 0, 0, 1]]).bool()
    model.set_observed(voted)
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
    torch.testing.assert_close(found.logits, q[[4, 1]] @ known.t())
    trust = sum((1 - (w[other] @ p[one])) ** 2 for one, other in ((0, 1), (1, 0), (1, 2), (2, 1)))
    errors = (found.logits.sigmoid() - batch["labels"]).square().nansum()
    torch.testing.assert_close(found.loss, 0.5 * (errors + 2 / 6 * 0.3 * trust) / 5)


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
