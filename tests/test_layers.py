"""`ctxzoo.layers` in a plain `nn.Module`, against equations in float64, and as parts of sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ctxzoo import layers
from tests.support.tiny_bert import save_tiny_bert

WIDTH, TEXTS, TOKENS = 8, 3, 5
LENGTHS = torch.tensor([5, 3, 1])
MASK = torch.arange(TOKENS) < LENGTHS.unsqueeze(1)
POOLINGS: dict[str, Any] = {
    "lama": lambda: layers.LamaPooling(WIDTH, 3, rank=2),
    "lama_mean": lambda: layers.LamaPooling(WIDTH, 2, context="mean"),
    "second_order": lambda: layers.SecondOrderPooling(WIDTH, 4, num_steps=3),
}
ATTENTIONS: dict[str, Any] = {
    "linear": lambda: layers.LinearSelfAttention(WIDTH, 2, num_features=16),
    "linear_elu": lambda: layers.LinearSelfAttention(WIDTH, 2, feature_map="elu"),
    "higher": lambda: layers.HigherOrderSelfAttention(WIDTH, 2),
    "trilinear": lambda: layers.HigherOrderSelfAttention(WIDTH, 2, order_type="trilinear"),
    "kernel": lambda: layers.KernelSelfAttention(WIDTH, 2, num_features=6),
}


def tokens(seed: int = 0) -> torch.Tensor:
    return torch.randn(TEXTS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed))


class Network(nn.Module):
    """A network of one's own around a layer."""

    def __init__(self, layer: nn.Module, pools: bool) -> None:
        super().__init__()
        self.layer, self.pools = layer, pools
        self.output = nn.Linear(layer.output_size if pools else WIDTH, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.layer(x, mask)
        if not self.pools:
            states = (states * mask.unsqueeze(-1)).sum(dim=1)
        return self.output(states)


@pytest.mark.parametrize("name", [*POOLINGS, *ATTENTIONS])
def test_a_network_of_ones_own_trains_ignores_padding_and_is_saved(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    make = {**POOLINGS, **ATTENTIONS}[name]
    network = Network(make(), pools=name in POOLINGS)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    labels = torch.tensor([0, 1, 0])
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(network(tokens(), MASK), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 < losses[0]
    network.eval()
    found = network(tokens(), MASK)
    torch.testing.assert_close(network(tokens().masked_fill(~MASK.unsqueeze(-1), 7.0), MASK.long()), found)
    torch.testing.assert_close(network(tokens()[1:2, :3], MASK[1:2, :3]), found[1:2], rtol=1e-4, atol=1e-5)
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    other = Network(make(), pools=name in POOLINGS).eval()
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(other(tokens(), MASK), found)


def test_lama_pooling_is_its_equation() -> None:
    torch.manual_seed(2)
    layer = layers.LamaPooling(WIDTH, 3, rank=2).double()
    x = tokens().double()
    attention, context = layer.attention, layer.context.vector
    left, right = context @ attention.context_factors, x @ attention.word_factors
    scores = torch.tanh((left * right).unflatten(2, (3, 2)).sum(dim=3))
    for text, length in enumerate(LENGTHS.tolist()):
        weights = scores[text, :length].softmax(dim=0)
        expected = torch.cat([weights[:, head] @ x[text, :length] for head in range(3)])
        torch.testing.assert_close(layer(x, MASK)[text], expected)


def test_second_order_pooling_is_its_equation() -> None:
    torch.manual_seed(2)
    layer = layers.SecondOrderPooling(WIDTH, 4, num_steps=2).double()
    x, parts = tokens().double(), layer.contextualizer
    for text, length in enumerate(LENGTHS.tolist()):
        read, context = x[text, :length], torch.ones(WIDTH, dtype=torch.float64)
        for step in range(2):
            u, v, w = parts.token_factors[step], parts.context_factors[step], parts.feature_factors[step]
            weights = ((read @ u.T) * (v @ context) @ w.T).softmax(dim=0)
            context = (weights * read).sum(dim=0)
        torch.testing.assert_close(layer(x, MASK)[text], context)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_causal_attention_reads_nothing_ahead(name: str) -> None:
    torch.manual_seed(0)
    layer, x = ATTENTIONS[name]().eval(), tokens()
    changed = x.clone()
    changed[:, 3:] = 5.0
    before, after = layer(x, causal=True), layer(changed, causal=True)
    torch.testing.assert_close(before[:, :3], after[:, :3], rtol=1e-4, atol=1e-6)
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_beta_lstm_has_the_place_of_an_lstm() -> None:
    layer = layers.BetaLSTM(WIDTH, 4, batch_first=True, bidirectional=True)
    states, _ = layer(tokens())
    assert states.shape == (TEXTS, TOKENS, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layers.LamaPooling(8, context="last"), "context='last': expected learned or mean"),
        (lambda: layers.LinearSelfAttention(8, 3), "width=8 is no multiple of num_heads=3"),
        (lambda: layers.SentencePooling(8, "Mean"), "pooling='Mean': expected one of LamaPooling, SecondOrderPooling"),
        (lambda: layers.LamaPooling(8)(torch.ones(2, 8)), r"x has the shape \(2, 8\); expected \(texts, tokens"),
        (lambda: layers.LamaPooling(8)(tokens(), MASK[:, 1:]), r"mask has the shape \(3, 4\); expected \(3, 5\)"),
        (lambda: layers.KernelSelfAttention(8, 2, num_features=5), "5"),
    ],
)
def test_mistakes_are_told(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("pooling", ["LamaPooling", "SecondOrderPooling"])
def test_a_pooling_is_a_part_of_sentence_transformers(pooling: str, tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import Transformer

    part = Transformer(str(save_tiny_bert(tmp_path / "bert")))
    pool = layers.SentencePooling(part.get_embedding_dimension(), pooling)
    sentences = sentence_transformers.SentenceTransformer(modules=[part, pool], device="cpu")
    texts = ["the screen is not good", "not good"]
    found = sentences.encode(texts)
    assert found.shape == (2, pool.get_embedding_dimension())
    assert sentences.encode(texts[1:])[0] == pytest.approx(found[1], abs=1e-5)  # without padding
    sentences.save(str(tmp_path / "saved"))
    loaded = sentence_transformers.SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)
    assert type(loaded[1]) is layers.SentencePooling
    assert loaded.encode(texts) == pytest.approx(found)
