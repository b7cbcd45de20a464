"""The higher-order encoder: what its model gives beside its steps."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from ctxzoo.models.modeling_higher_order_encoder import HigherOrderEncoderModel

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 2}


def test_the_context_and_what_it_multiplies_are_there_on_request() -> None:
    model = HigherOrderEncoderModel(HigherOrderEncoderConfig(**SIZES)).eval()
    ids = torch.arange(2, 12).view(2, 5)
    found = model(ids, output_attentions=True)
    assert found.context_attentions[0].shape == (2, 2, 5, 5)
    assert found.modulations[0].shape == (2, 2, 5, 4)
    torch.testing.assert_close(found.context_attentions[0].sum(-1), torch.ones(2, 2, 5))
    assert model(ids).context_attentions is None


def test_weights_of_pairs_are_those_of_their_first_keys() -> None:
    config = HigherOrderEncoderConfig(**SIZES, order_type="trilinear", num_higher_heads=1)
    found = HigherOrderEncoderModel(config).eval()(torch.arange(2, 12).view(2, 5), output_attentions=True)
    pairs = found.pair_attentions[1]
    assert pairs.shape == (2, 1, 5, 5, 5)
    torch.testing.assert_close(pairs.sum(dim=-1), found.attentions[1][:, 1:])
