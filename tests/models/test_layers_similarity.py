from __future__ import annotations

from typing import Literal

import pytest
import torch

from ctxzoo.models.layers_similarity import AttentionFlow, TrilinearSimilarity, product_bound
from ctxzoo.models.ops_attention_flow import reference_attention_flow

WIDTH = 6


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    context, question = torch.randn(2, 7, WIDTH).double(), torch.randn(2, 4, WIDTH).double()
    return context, question, torch.arange(7) < torch.tensor([[7], [3]]), torch.arange(4) < torch.tensor([[2], [4]])


@pytest.mark.parametrize("mode", ["coattention", "max"])
def test_equals_the_reference(mode: Literal["coattention", "max"]) -> None:
    context, question, context_mask, question_mask = inputs()
    module = AttentionFlow(WIDTH, 0.2, mode).double().eval()
    s = module.similarity
    torch.nn.init.constant_(s.bias, 0.7)
    weight = torch.cat([s.context_weight.flatten(), s.question_weight.flatten(), s.product_weight.flatten()])
    expected = reference_attention_flow(context, question, weight, s.bias[0], context_mask, question_mask, mode)
    flow = module(context, question, context_mask, question_mask)[0]
    torch.testing.assert_close(flow[context_mask], expected[context_mask], rtol=0, atol=1e-12)


def test_dropout_reaches_the_similarity_alone() -> None:
    """In training S is of dropped-out words, while c and q themselves enter G whole."""
    context, question, context_mask, question_mask = inputs()
    module = AttentionFlow(WIDTH, 0.5).double()
    flow, to_question, _ = module(context, question, context_mask, question_mask)
    assert torch.equal(flow[..., :WIDTH], context)
    torch.testing.assert_close(flow[..., WIDTH : 2 * WIDTH], to_question @ question)
    evaluated = module.eval()(context, question, context_mask, question_mask)[1]
    assert not torch.allclose(to_question, evaluated)


@pytest.mark.parametrize("width", [1, 6, 200])
def test_the_product_starts_as_that_of_the_starter(width: int) -> None:
    """Whose weight has the shape (1, 1, d), of which Xavier's rule takes d for both of its widths."""
    torch.manual_seed(0)
    expected = torch.nn.init.xavier_uniform_(torch.empty(1, 1, width, dtype=torch.float64))
    torch.manual_seed(0)
    bound = product_bound(width)
    ours = torch.empty(1, 1, width, dtype=torch.float64).uniform_(-bound, bound)
    torch.testing.assert_close(ours, expected, rtol=1e-14, atol=0)


def test_initial_values_are_xavier_uniform_with_zero_bias() -> None:
    torch.manual_seed(0)
    module = TrilinearSimilarity(400)
    bounds = ((6 / 401) ** 0.5, (6 / 401) ** 0.5, product_bound(400))
    for weight, bound in zip(
        (module.context_weight, module.question_weight, module.product_weight), bounds, strict=True
    ):
        assert 0.95 * bound < weight.abs().max().item() <= bound
    assert module.bias.item() == 0
