from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.layers_self_attention import ContextSelfAttention, SingleHeadSelfAttention

WIDTH = 4
LENGTHS = [6, 3, 1]


def case(residual: bool = False) -> tuple[SingleHeadSelfAttention, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    module = SingleHeadSelfAttention(WIDTH, 0.2, residual).double().eval()
    mask = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
    return module, 2 * torch.randn(3, 6, WIDTH, dtype=torch.float64), mask


@pytest.mark.parametrize("residual", [False, True])
def test_equals_the_equation_on_each_sequence_alone(residual: bool) -> None:
    module, x, mask = case(residual)
    out = module(x, mask)
    for row, length in enumerate(LENGTHS):
        words = x[row, :length]
        query, key, value = (
            words @ linear.get_parameter("weight").T for linear in (module.query, module.key, module.value)
        )
        scores = (query @ key.T / math.sqrt(WIDTH)).exp()
        expected = scores / scores.sum(1, keepdim=True) @ value
        if residual:
            expected = words + expected
            centred = expected - expected.mean(1, keepdim=True)
            expected = centred / (centred.pow(2).mean(1, keepdim=True) + 1e-5).sqrt()
        torch.testing.assert_close(out[row, :length], expected, rtol=0, atol=1e-12)


def test_without_queries_it_is_the_mean_of_the_values() -> None:
    module, x, mask = case()
    torch.nn.init.zeros_(module.query.weight)
    out = module(x, mask)
    for row, length in enumerate(LENGTHS):
        mean = module.value(x[row, :length]).mean(0)
        torch.testing.assert_close(out[row, :length], mean.expand(length, WIDTH), rtol=0, atol=1e-13)


def test_padding_has_weight_zero() -> None:
    module, x, mask = case()
    weights = module.weights(x, mask)
    assert (weights.transpose(1, 2)[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(2), torch.ones(3, 6, dtype=torch.float64))
    torch.testing.assert_close(module(x, mask), weights @ module.value(x), rtol=0, atol=1e-13)
    x[~mask] = 1e4
    assert torch.equal(module.weights(x, mask)[mask], weights[mask])


@pytest.mark.parametrize("residual", [False, True])
def test_only_the_residual_layer_has_a_path_around_the_attention(residual: bool) -> None:
    module, x, mask = case(residual)
    torch.nn.init.zeros_(module.value.weight)
    x.requires_grad_()
    (module(x, mask) ** 2 * torch.rand_like(x)).sum().backward()
    assert x.grad is not None
    assert bool(x.grad.abs().max() > 0) == residual


def test_no_bias_and_no_output_map() -> None:
    assert {name for name, _ in case()[0].named_parameters()} == {"query.weight", "key.weight", "value.weight"}


def test_dropout_is_on_the_weights_in_training_only() -> None:
    module, _, mask = case()
    torch.nn.init.zeros_(module.query.weight)
    torch.nn.init.eye_(module.value.weight)
    one_hot = torch.eye(6, WIDTH, dtype=torch.float64)[None]  # the output then shows the weights of the first 4 words
    full = mask[:1]
    torch.manual_seed(0)
    seen = torch.cat([module.train()(one_hot, full) for _ in range(50)])
    assert sorted(set(seen.flatten().tolist())) == pytest.approx([0.0, 1 / (6 * 0.8)])
    assert (seen == 0).double().mean().item() == pytest.approx(0.2, abs=0.05)
    torch.testing.assert_close(module.eval()(one_hot, full), torch.full((1, 6, WIDTH), 1 / 6, dtype=torch.float64))


# ---- after the attention flow ----------------------------------------------------------------------------------------


def context_case() -> tuple[ContextSelfAttention, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    module = ContextSelfAttention(10, 3, 0.2).double().eval()
    mask = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
    return module, torch.randn(3, 6, 10, dtype=torch.float64), mask


def test_context_attention_equals_the_equations() -> None:
    module, flow, mask = context_case()
    out, weights = module(flow, mask)
    similarity = module.similarity
    w = torch.cat([part.flatten() for part in (similarity.context_weight, similarity.question_weight)])
    w = torch.cat([w, similarity.product_weight.flatten()])
    for row, length in enumerate(LENGTHS):
        x = module.reduce(flow[row, :length]).clamp(min=0)
        r = module.encoder.rnn(x[None])[0][0]
        for i in range(length):
            others = [j for j in range(length) if j != i]
            chances = torch.zeros(length, dtype=torch.float64)
            if others:
                scores = torch.stack([torch.cat([r[i], r[j], r[i] * r[j]]) @ w for j in others]).exp()
                chances[others] = scores / scores.sum()
            attended = chances @ r
            merged = module.merge(torch.cat([r[i], attended, r[i] * attended]))
            torch.testing.assert_close(out[row, i], x[i] + merged.clamp(min=0), rtol=0, atol=1e-12)
            torch.testing.assert_close(weights[row, i, :length], chances, rtol=0, atol=1e-12)


def test_no_word_attends_to_itself_or_to_padding() -> None:
    module, flow, mask = context_case()
    weights = module(flow, mask)[1]
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    assert (weights.transpose(1, 2)[~mask] == 0).all()
    sums = weights.sum(2)[mask]
    # The context of one word has nothing to look at.
    torch.testing.assert_close(sums, torch.tensor([1.0] * 9 + [0.0], dtype=torch.float64))


def test_context_attention_ignores_padding() -> None:
    module, flow, mask = context_case()
    before = module(flow, mask)[0][mask]
    flow[~mask] = 1e3
    torch.testing.assert_close(module(flow, mask)[0][mask], before, rtol=0, atol=1e-13)


def test_context_attention_has_a_residual_path() -> None:
    module, flow, mask = context_case()
    torch.nn.init.zeros_(module.merge.weight)
    torch.nn.init.constant_(module.merge.bias, -1.0)
    torch.testing.assert_close(module(flow, mask)[0], torch.relu(module.reduce(flow)))
