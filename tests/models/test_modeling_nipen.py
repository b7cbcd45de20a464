"""NIPEN against a worked example and a reference in float64, and the properties that follow from its equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.layers_nipen import log_likelihood_of_authors_code, normal_kl_divergence
from ctxzoo.models.layers_vote import mask_randomly
from ctxzoo.models.modeling_nipen import LOSS_TERMS, NipenForVotePrediction

NAN = float("nan")
SIZES: dict[str, Any] = {
    "num_legislators": 4,
    "num_bills": 6,
    "vocab_size": 7,
    "num_topics": 3,
    "encoder_widths": [6, 5],
}


def model_of(**fields: Any) -> Any:
    """A model in float64 and evaluation mode, its tables away from where they start."""
    torch.manual_seed(0)
    model = NipenForVotePrediction(NipenConfig(**{**SIZES, **fields})).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.startswith("encoder"):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def batch_of(rows: int = 3, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    votes = torch.randint(0, 2, (rows, 4), generator=generator).double()
    votes[0, 1] = NAN
    return {
        "bag_of_words": torch.randint(0, 3, (rows, 7), generator=generator).double(),
        "bill_ids": torch.arange(rows),
        "votes": votes,
        "labels": votes.clone(),
    }


def added_to_points(fields: dict[str, Any], **weight: Any) -> float:
    """What a weight of the objective, rather than 0, adds to the term of points."""
    without = dict.fromkeys(weight, 0)
    found, other = (model_of(**fields, **given)(**batch_of()).loss_terms[-1] for given in (weight, without))
    return float(found - other)


def worked_example(structure: str) -> Any:
    model = model_of(num_legislators=3, num_topics=2, network_structure=structure)
    with torch.no_grad():
        model.legislators.weight.copy_(torch.tensor([[1, -0.5], [0.2, 0.4], [-1, 0.3]]))
        model.topics.weight[0] = torch.tensor([0.5, 2])
        model.bills.weight[0] = torch.tensor([1.0, -1])
        model.bias.weight[0] = 0.25
        if structure == "user_alpha":
            model.trust.weight.copy_(torch.tensor([[0, 0.6, -0.2], [0.1, 0, 0.3], [0.5, -0.4, 0]]))
            mask = ~torch.eye(3, dtype=torch.bool)
            mask[1, 2] = False
            model.trust.set_mask(mask)
            model.content_scale.weight.copy_(torch.tensor([1, 0.5, 2]))
            model.network_scale.weight.copy_(torch.tensor([0.3, 1, 0.2]))
    votes = torch.tensor([[1.0, 0, 1]], dtype=torch.float64)
    return model(bag_of_words=torch.zeros(1, 7, dtype=torch.float64), bill_ids=torch.tensor([0]), votes=votes)


def test_property_1_the_worked_example() -> None:
    found = worked_example("user_alpha")
    expected = {
        "content": [1.75, -0.45, -0.85],
        "network": [-0.8, 0.1, 0.9],
        "logits": [1.51, -0.125, -1.52],
    }
    for name, values in expected.items():
        assert found[name][0].tolist() == pytest.approx(values, abs=1e-7), name
    assert found.logits.sigmoid()[0].tolist() == pytest.approx([0.81906121, 0.46879063, 0.17946152], abs=1e-7)
    alone = worked_example("without_network").logits.sigmoid()[0]
    assert alone.tolist() == pytest.approx([0.8519528, 0.38936077, 0.29943286], abs=1e-7)


def test_property_2_one_topic_alone_is_item_response_with_two_parameters() -> None:
    model = model_of(num_topics=1, network_structure="without_network")
    with torch.no_grad():
        for table, value in ((model.legislators, 2), (model.topics, 0.5), (model.bills, -1), (model.bias, 0.25)):
            table.weight.fill_(value)
    batch = batch_of(1)
    assert model(**batch).logits.sigmoid()[0, 0].item() == pytest.approx(0.3208213008, abs=1e-9)


def test_property_3_a_vote_never_speaks_for_itself() -> None:
    model, batch = model_of(), batch_of()
    before = model(**batch).logits
    for legislator in range(4):
        votes = batch["votes"].clone()
        votes[0, legislator] = 1 - votes[0, legislator].nan_to_num()
        after = model(**{**batch, "votes": votes}).logits
        assert torch.equal(after[0, legislator], before[0, legislator])
        assert not torch.equal(after[0], before[0])


def test_property_3_legislators_in_another_order() -> None:
    model, batch = model_of(), batch_of()
    order = torch.tensor([2, 0, 3, 1])
    other = model_of()
    with torch.no_grad():
        other.legislators.weight.copy_(model.legislators.weight[order])
        other.trust.weight.copy_(model.trust.weight[order][:, order])
        for scale in ("content_scale", "network_scale"):
            getattr(other, scale).weight.copy_(getattr(model, scale).weight[order])
    found = other(**{**batch, "votes": batch["votes"][:, order], "labels": batch["labels"][:, order]})
    expected = model(**batch)
    torch.testing.assert_close(found.logits, expected.logits[:, order])
    torch.testing.assert_close(found.loss, expected.loss)


@pytest.mark.parametrize("reduction", ["mean", "authors_sum"])
def test_property_3_votes_that_are_not_known_count_for_nothing(reduction: str) -> None:
    model, batch = model_of(reduction=reduction), batch_of()
    batch["labels"][1] = NAN
    logits = model(**batch).logits
    signs = 2 * batch["labels"] - 1
    expected = -0.5 * 10 * torch.nn.functional.logsigmoid(signs * logits).nansum()
    count = (~batch["labels"].isnan()).sum() if reduction == "mean" else 1
    assert model(**batch).loss_terms[LOSS_TERMS.index("votes")].item() == pytest.approx((expected / count).item())


def test_property_4_signs_and_scales() -> None:
    model, batch = model_of(), batch_of()
    before = model(**batch)
    with torch.no_grad():
        model.legislators.weight[:, 1] *= -1
        model.bills.weight[:, 1] *= -1
    torch.testing.assert_close(model(**batch).logits, before.logits)
    torch.testing.assert_close(model(**batch).loss, before.loss)
    with torch.no_grad():
        model.legislators.weight *= 3
        model.bills.weight /= 3
    torch.testing.assert_close(model(**batch).logits, before.logits)
    assert model(**batch).loss_terms[-1] != before.loss_terms[-1]


def test_property_5_without_network_there_are_no_trust_weights() -> None:
    model = model_of(network_structure="without_network")
    assert not any(name.startswith(("trust", "network_scale")) for name, _ in model.named_parameters())
    batch = batch_of()
    assert model(**batch).network is None
    assert torch.equal(model(**{**batch, "votes": 1 - batch["votes"]}).logits, model(**batch).logits)


def test_property_5_trust_of_full_rank_is_any_trust() -> None:
    whole, parts, batch = model_of(), model_of(trust_rank=4), batch_of()
    with torch.no_grad():
        left, values, right = torch.linalg.svd(whole.trust.weight)
        parts.trust.left.copy_(left * values)
        parts.trust.right.copy_(right)
    torch.testing.assert_close(parts.trust(2 * batch["votes"][1:] - 1), whole.trust(2 * batch["votes"][1:] - 1))
    assert "weight" not in dict(parts.trust.named_parameters())


def test_property_6_the_divergence_of_topics() -> None:
    mean, log_deviation = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    normal = Normal(mean, log_deviation.exp())
    expected = kl_divergence(normal, Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum(-1)
    torch.testing.assert_close(normal_kl_divergence(mean, log_deviation), expected)
    assert normal_kl_divergence(torch.zeros(1, 3), torch.zeros(1, 3)).item() == 0
    assert (normal_kl_divergence(mean, log_deviation) > 0).all()


def test_property_7_topics_are_tied_to_the_text() -> None:
    batch = batch_of()
    for topic_lambda in (0, 1):
        model = model_of(encoder="sdae", topic_lambda=topic_lambda, weight_lambda=0, text_lambda=0)
        model(**batch).loss.backward()
        reached = any(p.grad is not None and p.grad.any() for p in model.encoder.parameters())
        assert reached == bool(topic_lambda)
    tied = model_of(topic_lambda=1e6, encoder="sdae")
    optimizer = torch.optim.Adam([tied.topics.weight], lr=0.02)
    for _ in range(400):
        optimizer.zero_grad()
        tied(**batch).loss.backward()
        optimizer.step()
    found = tied(**batch)
    torch.testing.assert_close(found.topic_weights, found.text_topics, atol=1e-2, rtol=0)


@pytest.mark.slow
def test_property_8_points_that_made_the_votes_are_found_again() -> None:
    generator = torch.Generator().manual_seed(4)
    users, bills = 60, 300
    points = torch.randn(users, 1, generator=generator)
    logits = 1.5 * torch.randn(bills, 1, generator=generator) @ points.t()
    chances = logits.sigmoid()
    votes = torch.bernoulli(chances, generator=generator)
    hidden = torch.rand(votes.shape, generator=generator) < 0.2
    config = NipenConfig(
        **{**SIZES, "num_legislators": users, "num_bills": bills, "num_topics": 1},
        network_structure="without_network",
        topic_lambda=1,
        ideal_lambda=1,
    )
    torch.manual_seed(0)
    model: Any = NipenForVotePrediction(config)
    batch = {
        "bag_of_words": torch.zeros(bills, 7),
        "bill_ids": torch.arange(bills),
        "labels": votes.masked_fill(hidden, NAN),
    }
    optimizer = torch.optim.Adam([p for n, p in model.named_parameters() if not n.startswith("encoder")], lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    found = model.legislators.weight.detach()[:, 0]
    assert abs(torch.corrcoef(torch.stack([found, points[:, 0]]))[0, 1]) > 0.95
    predicted = model.eval()(**batch).logits > 0
    accuracy, oracle = (((guess == votes.bool())[hidden]).float().mean() for guess in (predicted, chances > 0.5))
    assert oracle - accuracy < 0.02


def test_property_9_saved_and_loaded_logits_are_equal(tmp_path: Path) -> None:
    model, batch = model_of(), batch_of()
    voted = torch.rand(6, 4) < 0.5
    model.set_observed_votes(torch.where(voted, 1.0, NAN))
    model.save_pretrained(tmp_path)
    loaded = NipenForVotePrediction.from_pretrained(tmp_path)
    assert torch.equal(loaded(**batch).logits, model(**batch).logits)
    assert torch.equal(loaded.trust.mask, model.trust.mask)


def test_property_9_a_text_without_words_is_finite() -> None:
    batch = batch_of()
    batch["bag_of_words"].zero_()
    found = model_of()(**batch)
    assert found.loss.isfinite()
    assert found.logits.isfinite().all()


@pytest.mark.parametrize("fields", [{}, {"encoder": "sdae"}, {"version": "tensor"}], ids=["vae", "sdae", "tensor"])
def test_case_bills_without_words_or_votes(fields: dict[str, Any]) -> None:
    batch = batch_of()
    none = {"labels": torch.full_like(batch["labels"], NAN)}
    model = model_of(**fields).train()
    loss = model(**{**batch, **none, "bag_of_words": torch.zeros_like(batch["bag_of_words"])}).loss
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    # What is not of the votes is divided by their number, 11, and by 1 where there is none.
    model = model_of(**fields, vote_lambda=0)
    torch.testing.assert_close(model(**{**batch, **none}).loss, 11 * model(**batch).loss)


def test_case_votes_in_another_coding() -> None:
    batch = batch_of()
    for name in ("votes", "labels"):
        with pytest.raises(ValueError, match=f"{name} holds -1; expected 1 for yea, 0 for nay, NaN for unknown"):
            model_of()(**{**batch, name: 2 * batch[name].nan_to_num() - 1})
        with pytest.raises(ValueError, match=f"{name} holds 0.5"):
            model_of()(**{**batch, name: torch.full_like(batch[name], 0.5)})


def test_case_a_bill_may_stand_in_a_batch_twice() -> None:
    model = model_of(reduction="authors_sum", ideal_lambda=0)
    once = {name: x[:1] for name, x in batch_of().items()}
    twice = {name: torch.cat([x, x]) for name, x in once.items()}
    gradients = []
    for batch in (once, twice):
        model.zero_grad()
        model(**batch).loss_terms[LOSS_TERMS.index("votes")].backward()
        gradients.append(model.bills.weight.grad.clone())
    torch.testing.assert_close(gradients[1], 2 * gradients[0])


def test_case_ids_and_masks_that_cannot_be() -> None:
    model, batch = model_of(), batch_of()
    with pytest.raises(ValueError, match=r"bill id 6 is none of the bills 0\.\.5"):
        model(**{**batch, "bill_ids": torch.tensor([0, 6, 1])})
    for ids in (torch.tensor([0, -1, 1]), None):
        with pytest.raises(ValueError, match="bill id -1: a model without amortized_bills"):
            model(**{**batch, "bill_ids": ids})
    with pytest.raises(ValueError, match=r"trust mask must have the shape \(4, 4\), got \(4, 3\)"):
        model.trust.set_mask(torch.zeros(4, 3))
    with pytest.raises(ValueError, match="the trust mask has 2 weigh the own vote"):
        model.trust.set_mask(torch.diag(torch.tensor([0.0, 0, 1, 0])))
    for odd in (NAN, 0.5, 7.0):
        with pytest.raises(ValueError, match="the trust mask holds another number than 0 and 1"):
            model.trust.set_mask(torch.full((4, 4), odd).fill_diagonal_(0))
    with pytest.raises(ValueError, match=r"expected votes of the shape \(6, 4\)"):
        model.set_observed_votes(torch.ones(4, 6))


def test_case_where_values_are_not_read_a_new_bill_has_no_answer() -> None:
    """On a device, or compiled: id -1 must not be answered as the last bill."""
    model, batch = model_of(), batch_of()
    batch["bill_ids"] = torch.tensor([0, -1, 1])
    with mock.patch.object(torch.compiler, "is_compiling", return_value=True):
        found = model(**batch)
    assert found.logits[1].isnan().all()
    assert found.logits[[0, 2]].isfinite().all()
    assert found.loss.isnan()


def test_case_a_weight_for_each_pair_of_many_legislators_is_refused() -> None:
    for accepted in (1537, 10_000):  # the authors have 1,537
        NipenConfig(**{**SIZES, "num_legislators": accepted})
    many = {**SIZES, "num_legislators": 10_001}
    with pytest.raises(Exception, match="trust_rank=None with 10,001 legislators: a weight for each pair"):
        NipenConfig(**many)
    NipenConfig(**many, trust_rank=16)
    NipenConfig(**many, network_structure="without_network")


def test_case_sure_votes_have_finite_likelihoods() -> None:
    model, batch = model_of(), batch_of()
    with torch.no_grad():
        model.bias.weight.fill_(200)
    batch["labels"].fill_(0)
    loss = model.float()(**{name: x.float() if x.is_floating_point() else x for name, x in batch.items()})
    assert loss.loss_terms[LOSS_TERMS.index("votes")].item() == pytest.approx(
        5 * 200, rel=0.2
    )  # content and network beside it
    sure = log_likelihood_of_authors_code(torch.tensor([100.0, -100, 100, -100]), torch.tensor([1.0, 1, 0, 0]))
    assert sure.tolist() == pytest.approx([0, -100, -200, 100])


def test_case_counts_in_half_precision_do_not_overflow() -> None:
    model, batch = model_of(text_lambda=30_000).half(), batch_of()
    batch["bag_of_words"] *= 9
    found = model(**{name: x.half() if x.is_floating_point() else x for name, x in batch.items()})
    assert found.loss.dtype == torch.float32
    assert found.loss.isfinite()
    assert found.loss.item() > 65504 / 12


def test_case_deviations_of_topics_are_bounded() -> None:
    model, batch = model_of().train(), batch_of()
    for extreme, bound in ((1e6, 10.0), (-1e6, -10.0)):
        with torch.no_grad():
            model.encoder.log_deviation.bias.fill_(extreme)
        assert (model.encoder(batch["bag_of_words"]).log_deviation == bound).all()
        single = {name: x.float() if x.is_floating_point() else x for name, x in batch.items()}
        assert model.float()(**single).loss.isfinite()
        model.double()


def test_case_trust_starts_small_enough() -> None:
    big: Any = NipenForVotePrediction(NipenConfig(**{**SIZES, "num_legislators": 400}, trust_lambda=0.1))
    assert big.trust.weight.std() <= 400**-0.5
    assert big.trust.mask.dtype == torch.bool
    low: Any = NipenForVotePrediction(NipenConfig(**{**SIZES, "num_legislators": 400}, trust_lambda=0.1, trust_rank=3))
    assert low.trust.trust_matrix().std() <= 400**-0.5


@pytest.mark.parametrize(("bias_lambda", "held"), [(None, True), (0, False)])
def test_case_the_bias_of_unanimous_bills_is_held(bias_lambda: int | None, held: bool) -> None:
    model, batch = model_of(bias_lambda=bias_lambda).requires_grad_(False), batch_of()
    batch["labels"].fill_(1)
    optimizer = torch.optim.Adam([model.bias.weight.requires_grad_()], lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    assert bool((model.bias.weight[:3].abs() < 2).all()) == held


def test_the_terms_of_the_authors_code() -> None:
    """Every term written out again, from the parameters."""
    fields: dict[str, Any] = {"encoder": "sdae", "loss_type": "authors", "reduction": "authors_sum"}
    lambdas = {"weight": 0.1, "topic": 2.0, "ideal": 0.3, "text": 4.0, "trust": 0.5, "vote": 6.0, "scale": 0.7}
    model, batch = model_of(**fields, **{f"{name}_lambda": value for name, value in lambdas.items()}), batch_of()
    found = model(**batch)
    text = batch["bag_of_words"].log1p()
    hidden = text
    for layer in model.encoder.encoder:
        hidden = torch.relu(hidden @ layer.weight.t() + layer.bias)
    code = hidden
    for layer in model.encoder.decoder:
        hidden = torch.relu(hidden @ layer.weight.t() + layer.bias)
    y, a, b, x = (table.weight for table in (model.topics, model.bills, model.bias, model.legislators))
    signs = (2 * batch["labels"] - 1).nan_to_num()
    p = found.logits.sigmoid()
    likelihood = signs * p.log() + (1 - signs) * (1 - p).log()
    scales = sum(scale.weight.square().sum() for scale in (model.content_scale, model.network_scale))
    expected = [
        0.5 * 0.1 * sum(each.square().sum() for each in model.encoder.parameters()),
        0.5 * 4.0 * (hidden - text).square().sum(),
        0.5 * 2.0 * (y[:3] - code).square().sum(),
        -0.5 * 6.0 * (likelihood * ~batch["labels"].isnan()).sum(),
        0.5
        * (
            0.3 * (a[:3].square().sum() + x.square().sum())  # a of the bills of the batch alone
            + 0.5 * model.trust.weight.square().sum()
            + 0.7 * 3 * scales
            + 4 * b[:3].square().sum()
        ),
    ]
    assert found.loss_terms.tolist() == pytest.approx([float(value) for value in expected], rel=1e-9)


@pytest.mark.parametrize("widths", [[4], [6, 5, 4]])
def test_the_terms_of_the_variational_and_tensor_version(widths: list[int]) -> None:
    fields: dict[str, Any] = {"version": "tensor", "reduction": "authors_sum", "ntn_widths": widths}
    model, batch = model_of(**fields, scale_lambda=0.7, trust_lambda=0.5, ideal_lambda=0.3), batch_of()
    found = model(**batch)
    agree = (model.topics.weight[:3] * model.bills.weight[:3]).unsqueeze(1) * model.legislators.weight
    hidden = agree
    for layer in model.tensor.hidden:
        hidden = torch.tanh(hidden @ layer.weight.t() + layer.bias)
    assert hidden.shape == (3, 4, 4)
    content = (hidden @ model.tensor.output.weight.t() + model.tensor.output.bias).squeeze(2)
    torch.testing.assert_close(found.content, content + model.bias.weight[:3].unsqueeze(1))
    squares = sum(each.square().sum() for each in model.encoder.parameters())
    # The authors penalise the weights of the small network, and not its biases.
    tensor = sum(each.weight.square().sum() for each in (*model.tensor.hidden, model.tensor.output))
    assert all(each.bias.abs().sum() > 0 for each in (*model.tensor.hidden, model.tensor.output))
    scales = sum(scale.weight.square().sum() for scale in (model.content_scale, model.network_scale))
    points = 0.3 * (model.bills.weight[:3].square().sum() + model.legislators.weight.square().sum())
    assert found.loss_terms[0].item() == pytest.approx(float(0.25 * 0.1**2 * squares + 0.5 * 1000 * tensor))
    expected = 0.5 * (points + 0.5 * model.trust.weight.square().sum() + 0.7 * scales)
    assert found.loss_terms[4].item() == pytest.approx(float(expected))


@pytest.mark.parametrize("reduction", ["mean", "authors_sum"])
def test_low_rank_trust_is_held_as_the_product_that_it_is(reduction: str) -> None:
    """lambda_tau ||P Q||^2 as the authors compute it, value and gradients, and not ||P||^2 + ||Q||^2."""
    model, batch = model_of(trust_rank=2, reduction=reduction, trust_lambda=0.7), batch_of()
    without = model_of(trust_rank=2, reduction=reduction, trust_lambda=0)
    left, right = (part.detach().clone().requires_grad_() for part in (model.trust.left, model.trust.right))
    times = 1 if reduction == "authors_sum" else 3 / 6 / 11  # of a mean: the fraction of the bills, by votes
    expected = 0.5 * 0.7 * times * (left @ right).square().sum()
    found, other = model(**batch), without(**batch)
    torch.testing.assert_close(found.loss_terms[-1] - other.loss_terms[-1], expected)
    expected.backward()
    for each in (found, other):
        each.loss.backward()
    for name, wanted in (("left", left.grad), ("right", right.grad)):
        gradients = [getattr(each.trust, name).grad for each in (model, without)]
        torch.testing.assert_close(gradients[0] - gradients[1], wanted)


@pytest.mark.parametrize("reduction", ["mean", "authors_sum"])
def test_the_term_of_the_text_holds_the_divergence(reduction: str) -> None:
    model, batch = model_of(reduction=reduction, text_lambda=2), batch_of()
    text = batch["bag_of_words"].log1p()
    read = model.encoder(text)
    nats = normal_kl_divergence(read.mean, read.log_deviation)
    errors = (read.reconstruction - text).square().sum()
    votes = (~batch["labels"].isnan()).sum()
    expected = (errors + nats.sum()) / votes if reduction == "mean" else errors + nats.mean()
    torch.testing.assert_close(model(**batch).loss_terms[LOSS_TERMS.index("text")], expected)


@pytest.mark.parametrize("encoder", ["vae", "sdae"])
def test_in_training_texts_are_corrupted_and_made_again(encoder: str) -> None:
    """The variational encoder makes again what it read, the denoising one the text before it was corrupted."""
    torch.manual_seed(3)
    fields = {"corruption_level": 0.5, "dropout": 0.0, "reduction": "authors_sum", "text_lambda": 2}
    model, batch = model_of(encoder=encoder, **fields).train(), batch_of()
    seen: list[Any] = []
    model.encoder.register_forward_hook(lambda _module, inputs, output: seen.append((inputs[0], output)))
    found = model(**batch).loss_terms[LOSS_TERMS.index("text")]
    dirty, output = seen[0]
    clean = batch["bag_of_words"].log1p()
    assert ((dirty == 0) | (dirty == clean)).all()
    assert not torch.equal(dirty, clean)
    if encoder == "vae":
        nats = normal_kl_divergence(output.mean, output.log_deviation).mean()
        torch.testing.assert_close(found, (output.reconstruction - dirty).square().sum() + nats)
    else:
        torch.testing.assert_close(found, (output[2] - clean).square().sum())


def test_corruption_leaves_a_part_of_the_numbers_as_they_are() -> None:
    torch.manual_seed(0)
    ones = torch.ones(1000, 1000)
    found = mask_randomly(ones, 0.3, True)
    assert set(found.unique().tolist()) == {0.0, 1.0}
    assert float((found == 0).double().mean()) == pytest.approx(0.3, abs=0.005)
    assert mask_randomly(ones, 0.3, False) is ones


def test_topics_are_drawn_with_their_deviation_each_for_itself() -> None:
    torch.manual_seed(0)
    model = model_of(dropout=0.0).train()
    with torch.no_grad():
        model.encoder.log_deviation.weight.zero_()
        model.encoder.log_deviation.bias.fill_(0.7)
    read = model.encoder(batch_of()["bag_of_words"][:1].expand(4000, -1))
    noise = read.topics - read.mean
    torch.testing.assert_close(noise.std(dim=0), torch.full((3,), 0.7, dtype=torch.float64).exp(), rtol=0.05, atol=0)
    assert (torch.corrcoef(noise.T) - torch.eye(3)).abs().max() < 0.1


def test_new_bills_of_the_training_have_neither_their_points_nor_votes() -> None:
    fields = {"amortized_bills": True, "encoder": "sdae", "corruption_level": 0.0, "dropout": 0.0}
    model, batch = model_of(**fields, new_bill_rate=1.0).train(), batch_of()
    found = model(**batch).logits
    new = {"bill_ids": torch.full((3,), -1), "votes": torch.full_like(batch["votes"], NAN)}
    assert torch.equal(found, model.eval()(**{**batch, **new}).logits)
    assert not torch.allclose(found, model(**batch).logits)


@pytest.mark.parametrize(
    ("version", "bias_lambda", "weight"), [("pgm", 3, 3), ("tensor", 3, 3), ("pgm", None, 4), ("tensor", None, 0)]
)
def test_the_penalty_of_the_bias(version: str, bias_lambda: int | None, weight: int) -> None:
    """Without a weight of its own the authors' one: the number of legislators, and in "tensor" none."""
    fields = {"version": version}
    squares = model_of(**fields).bias.weight[:3].square().sum()
    assert added_to_points(fields, bias_lambda=bias_lambda) == pytest.approx(0.5 * weight * float(squares) / 11)


def test_the_terms_of_amortised_bills() -> None:
    fields = {"amortized_bills": True, "encoder": "sdae", "reduction": "authors_sum", "bias_lambda": 0}
    lambdas = {"delta": 0.7, "ideal": 0.3, "trust": 0.5, "scale": 0.9, "weight": 0.2}
    model = model_of(**fields, **{f"{name}_lambda": value for name, value in lambdas.items()})
    found = model(**batch_of()).loss_terms
    layers = [*model.encoder.parameters(), *model.text_points.parameters(), *model.text_bias.parameters()]
    assert float(found[0]) == pytest.approx(0.5 * 0.2 * float(sum(each.square().sum() for each in layers)))
    deviations = model.bills.weight[:3].square().sum() + model.bias.weight[:3].square().sum()
    scales = sum(scale.weight.square().sum() for scale in (model.content_scale, model.network_scale))
    expected = 0.3 * model.legislators.weight.square().sum() + 0.5 * model.trust.weight.square().sum()
    expected = expected + 0.7 * deviations + 0.9 * 3 * scales
    assert float(found[4]) == pytest.approx(0.5 * float(expected))


def test_votes_weigh_in_proportion_to_their_weight() -> None:
    terms = [model_of(vote_lambda=weight)(**batch_of()).loss_terms[LOSS_TERMS.index("votes")] for weight in (1, 4)]
    torch.testing.assert_close(terms[1], 4 * terms[0])


def test_the_mean_does_not_depend_on_the_batch() -> None:
    model = model_of()
    whole = {name: torch.cat([x, x + 3 if name == "bill_ids" else x]) for name, x in batch_of().items()}
    halves = [{name: x[part] for name, x in whole.items()} for part in (slice(0, 3), slice(3, 6))]
    expected = sum(model(**half).loss for half in halves) / 2
    torch.testing.assert_close(model(**whole).loss, expected)


@pytest.mark.parametrize("reduction", ["mean", "authors_sum"])
def test_scales_start_at_one_and_are_held(reduction: str) -> None:
    fields = {"reduction": reduction}
    new: Any = NipenForVotePrediction(NipenConfig(**SIZES, **fields))
    scales = model_of(**fields).content_scale.weight, model_of(**fields).network_scale.weight
    for start in (new.content_scale.weight, new.network_scale.weight):
        assert torch.equal(start, torch.ones(4))
    squares = sum(float(scale.square().sum()) for scale in scales)
    # In the authors' sums those of legislators stand once for each bill of the batch; of a mean they are shared by all.
    times = 3 if reduction == "authors_sum" else 3 / 6
    votes = 1 if reduction == "authors_sum" else 11
    assert added_to_points(fields, scale_lambda=0.7) == pytest.approx(0.5 * 0.7 * times * squares / votes)


def test_amortised_bills_follow_from_their_texts() -> None:
    model, batch = model_of(amortized_bills=True), batch_of()
    known, new = model(**batch), model(**{**batch, "bill_ids": torch.full((3,), -1)})
    assert torch.equal(known.topic_weights, known.text_topics)
    torch.testing.assert_close(known.bill_points - new.bill_points, model.bills.weight[:3])
    with torch.no_grad():
        model.bills.weight.zero_()
        model.bias.weight.zero_()
    torch.testing.assert_close(model(**batch).logits, new.logits)
    other = model(**{**batch, "bag_of_words": batch["bag_of_words"] + 1})
    assert not torch.equal(other.bill_points, new.bill_points)


def test_votes_of_a_text_are_told_by_name() -> None:
    names = ["Ada", "Ben", "Cyd", "Dot"]
    words = ["road", "school", "tax", "farm", "war", "law", "sea"]
    model = model_of(amortized_bills=True, legislator_names=names, words=words, bill_names=list("abcdef")).train()
    found = dict(model.predict_votes("Roads, a ROAD and the tax."))
    assert model.training
    assert list(found) == names
    bag = torch.zeros(1, 7, dtype=torch.float64)
    bag[0, [0, 2]] = 1
    assert list(found.values()) == pytest.approx(model.eval()(bag_of_words=bag).logits.sigmoid()[0].tolist())
    assert dict(model.predict_votes("tax", "c")) != dict(model.predict_votes("tax"))
    with pytest.raises(ValueError, match="does not know the bill 'z': expected one of its 6 names"):
        model.predict_votes("", "z")
    with pytest.raises(ValueError, match="knows the bills of its training alone"):
        model_of(words=words).predict_votes("road")
    with pytest.raises(ValueError, match="the config has no words"):
        model_of(amortized_bills=True).predict_votes("road")
    for bill, said in ((-1, "a new bill"), ("c", "the bill 'c'")):
        with pytest.raises(ValueError, match=f"says of {said} follows from its text, and there is none"):
            model.predict_votes(bill=bill)


def test_known_votes_of_others_are_read_by_name() -> None:
    names = ["Ada", "Ben", "Cyd", "Dot"]
    words = ["road", "school", "tax", "farm", "war", "law", "sea"]
    model = model_of(amortized_bills=True, legislator_names=names, words=words, bill_names=list("abcdef"))
    found = dict(model.predict_votes("a road", "c", {"Dot": 0, "Ben": True}))
    bag = torch.zeros(1, 7, dtype=torch.float64)
    bag[0, 0] = 1
    votes = torch.tensor([[NAN, 1, NAN, 0]], dtype=torch.float64)
    expected = model(bag_of_words=bag, bill_ids=torch.tensor([2]), votes=votes).logits.sigmoid()[0]
    assert list(found.values()) == pytest.approx(expected.tolist())
    assert found != pytest.approx(dict(model.predict_votes("a road", "c")))
    with pytest.raises(ValueError, match="does not know the legislator 'Eva'"):
        model.predict_votes("a road", "c", {"Eva": 1})
    with pytest.raises(ValueError, match="votes holds 2; expected 1 for yea, 0 for nay"):
        model.predict_votes("a road", "c", {"Ada": 2})


@pytest.mark.parametrize(
    ("variant", "kind", "weights"),
    [
        ("pgm_sdae", ("pgm", "sdae", None), (0.1, 1, 0.1, 1000, 1, 10, 1)),
        ("pgm_sdae_low_rank", ("pgm", "sdae", 3), (0.1, 1, 0.1, 1000, 1, 10, 1)),
        ("pgm_vae", ("pgm", "vae", None), (0.1, 10, 0.1, 1000, 1, 10, 1)),
        ("tensor", ("tensor", "vae", None), (10, 1000, 0.1, 1000, 1000, 10, 10)),
    ],
)
def test_variants_have_the_published_settings(
    variant: str, kind: tuple[str, str, int | None], weights: tuple[float, ...]
) -> None:
    config = NipenConfig(**NipenConfig.variants[variant])
    assert (config.version, config.encoder, config.trust_rank) == kind
    names = ("weight", "topic", "ideal", "text", "trust", "vote", "scale")
    assert tuple(getattr(config, f"{name}_lambda") for name in names) == weights
    assert (config.num_topics, config.dropout, config.corruption_level) == (10, 0.1, 0.3)
    assert (config.tensor_lambda, config.ntn_widths) == (1000, [10])
    assert config.encoder_widths == [512, 128]
    assert len(NipenConfig.variants) == 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": "tensor", "encoder": "sdae"}, "encoder='sdae' with version='tensor'"),
        ({"trust_rank": 5}, "trust_rank must be 1 to num_legislators, got 5"),
        ({"encoder_widths": []}, "encoder_widths must be one width or more"),
        ({"corruption_level": 1}, "corruption_level must be at least 0 and below 1, got 1"),
        ({"trust_lambda": -1}, "trust_lambda must be 0 or above, got -1"),
        ({"num_bills": 0}, "num_bills must be at least 1, got 0"),
        ({"legislator_names": ["a", "b", "c"]}, "legislator_names has 3 entries, but num_legislators is 4"),
        ({"bill_names": list("aabcde")}, "bill_names: two have the name 'a'"),
    ],
)
def test_configs_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        NipenConfig(**{**SIZES, **fields})
