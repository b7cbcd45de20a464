"""The Contextualizer a second time: float64, one document at a time, from the third-order tensor."""

from __future__ import annotations

import torch

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from tests.references.position import reference_sinusoidal_positions

Weights = dict[str, torch.Tensor]


def tensor_of(weights: Weights, step: int, recurrent: bool) -> torch.Tensor:
    """T_jab = sum_r W_jr U_ra V_rb of one step, (m, m, m)."""
    copy = 0 if recurrent else step
    u, v, w = (weights[f"steps.{name}_factors"][copy].double() for name in ("token", "context", "feature"))
    return torch.einsum("jr,ra,rb->jab", w, u, v)


def tokens_of(config: ContextualizerConfig, weights: Weights, ids: list[int]) -> torch.Tensor:
    """x of one document without padding, (n, m)."""
    words = weights["embeddings.words.weight"][ids].double()
    return torch.cat([words, reference_sinusoidal_positions(len(ids), config.position_dim)], dim=1)


def contexts_of(
    config: ContextualizerConfig, weights: Weights, ids: list[int], start: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """c^1 to c^K, (m,) each, and a^1 to a^K, (n, m) each (Algorithm 1)."""
    x, context = tokens_of(config, weights, ids), start.double()
    contexts, maps = [], []
    for step in range(config.num_steps):
        logits = torch.einsum("jab,na,b->nj", tensor_of(weights, step, config.recurrent), x, context)
        exponentials = (logits - logits.max(dim=0).values).exp()
        maps.append(exponentials / exponentials.sum(dim=0))
        context = (maps[-1] * x).sum(dim=0)
        contexts.append(context)
    return contexts, maps


def tokenwise_of(config: ContextualizerConfig, weights: Weights, ids: list[int]) -> list[torch.Tensor]:
    """y^1 to y^K, (n, m) each (Algorithm 2), query by query."""
    x = tokens_of(config, weights, ids)
    y, states = x, []
    for step in range(config.num_steps):
        tensor = tensor_of(weights, step, config.recurrent)
        values = y if config.tokenwise_values == "previous" else x
        rows = []
        for query in y:
            a = torch.softmax(torch.einsum("jab,na,b->nj", tensor, y, query), dim=0)
            rows.append((a * values).sum(dim=0))
        y = torch.stack(rows)
        states.append(y)
    return states
