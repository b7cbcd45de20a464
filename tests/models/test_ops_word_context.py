from __future__ import annotations

import torch

from ctxzoo.models.ops_word_context import (
    attention_weights,
    even_weights,
    reference_context,
    weighted_context,
    with_word2vec_gradient,
)

PRESENT = torch.tensor([[True, True, True, True], [False, True, True, False], [False, False, False, True], [False] * 4])


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def test_context_equals_loops() -> None:
    logits, words = 3 * drawn(4, 4), drawn(4, 4, 5)
    wanted, wanted_weights = reference_context(logits, words, PRESENT)
    weights = attention_weights(logits, PRESENT)
    torch.testing.assert_close(weights, wanted_weights, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(weighted_context(weights, words), wanted, rtol=1e-12, atol=1e-14)
    assert (weights[PRESENT] > 0).all()
    assert not weights[~PRESENT].any()
    torch.testing.assert_close(weights.sum(dim=-1), torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64))


def test_logits_of_0_give_even_weights() -> None:
    weights = even_weights(PRESENT, torch.float64)
    torch.testing.assert_close(weights, attention_weights(torch.zeros(4, 4, dtype=torch.float64), PRESENT))
    assert weights[1].tolist() == [0.0, 0.5, 0.5, 0.0]


def test_logits_may_be_large() -> None:
    weights = attention_weights(torch.tensor([[1e30, -1e30, 1e30, 0.0]]), PRESENT[:1])
    assert weights.tolist() == [[0.5, 0.0, 0.5, 0.0]]


def test_gradient_of_word2vec_is_whole_for_every_word() -> None:
    words = drawn(4, 4, 5).requires_grad_()
    mean = weighted_context(even_weights(PRESENT, torch.float64), words)
    context = with_word2vec_gradient(mean, words, PRESENT)
    assert torch.equal(context, mean)
    upstream = drawn(4, 5)
    context.backward(upstream)
    torch.testing.assert_close(words.grad, upstream.unsqueeze(1) * PRESENT.unsqueeze(-1))
