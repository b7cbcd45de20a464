"""The linear encoder: its model against the equation of its attention, and texts without words."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from ctxzoo.models.modeling_linear_encoder import LinearEncoderModel
from ctxzoo.models.ops_linear_encoder import FEATURE_MAPS

SIZES: dict[str, Any] = {"vocab_size": 30, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 1}


@pytest.mark.parametrize("causal", [False, True])
def test_with_elu_a_block_attends_by_products_of_elu_plus_one(causal: bool) -> None:
    config = LinearEncoderConfig(**SIZES, feature_map="elu", qk_norm=False, position="none", causal=causal)
    torch.manual_seed(0)
    model = LinearEncoderModel(config).double().eval()
    block = model.blocks[0]
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
        torch.nn.init.zeros_(block.outer.weight)
        torch.nn.init.zeros_(block.outer.bias)
    ids = torch.tensor([[3, 4, 5, 6]])
    x = model.embeddings.words(ids)
    normed = torch.nn.functional.layer_norm(x, (8,), block.attention_norm.weight, block.attention_norm.bias)
    query, key, value = (
        layer(normed).unflatten(-1, (2, 4)).transpose(1, 2)
        for layer in (block.attention.query, block.attention.key, block.attention.value)
    )
    weights = (torch.nn.functional.elu(query) + 1) @ (torch.nn.functional.elu(key) + 1).mT
    weights = weights.tril() if causal else weights
    attended = (weights @ value / weights.sum(-1, keepdim=True)).transpose(1, 2).flatten(-2)
    expected = torch.nn.functional.layer_norm(x + block.attention.output(attended), (8,))
    torch.testing.assert_close(model(ids).last_hidden_state, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_a_batch_of_empty_texts_gives_empty_outputs(feature_map: str, causal: bool) -> None:
    config = LinearEncoderConfig(**SIZES, feature_map=feature_map, causal=causal)
    none = torch.zeros(2, 0, dtype=torch.int64)
    for trained in (True, False):
        output = LinearEncoderModel(config).train(trained)(none)
        assert output.last_hidden_state.shape == (2, 0, 8)
        assert output.pooler_output.tolist() == torch.zeros(2, 8).tolist()
