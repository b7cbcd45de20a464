"""HCRNN in float64, one history, one step and one topic after the other, from the names of a model's weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class Reading:
    """What the reference computes for one history: (T, …) of each step, and of the history as a whole."""

    theta: torch.Tensor
    kl: torch.Tensor
    hidden: torch.Tensor
    context: torch.Tensor
    gate: torch.Tensor
    topics: torch.Tensor
    local: torch.Tensor
    of_contexts: torch.Tensor | None
    logits: torch.Tensor


def read(model: Any, history: Sequence[int]) -> Reading:
    """Read a history of items with the weights of an `HcrnnForNextItem`, as in evaluation."""
    config = model.config
    weights = {name: x.detach().double() for name, x in model.state_dict().items()}

    def cell(name: str) -> torch.Tensor:
        return weights[f"hcrnn.cell.{name}"]

    table = weights["hcrnn.items.weight"]
    bag = torch.zeros(config.num_items + 1, dtype=torch.float64)
    bag[list(history)] = 1
    query = torch.nn.functional.elu(
        weights["hcrnn.topics.query.weight"] @ (bag @ table) + weights["hcrnn.topics.query.bias"]
    )
    mean = weights["hcrnn.topics.mean.weight"] @ query + weights["hcrnn.topics.mean.bias"]
    deviation = weights["hcrnn.topics.deviation.weight"] @ query + weights["hcrnn.topics.deviation.bias"]
    deviation = 1e-6 + torch.log1p(torch.exp(deviation))
    kl = sum((m * m + d * d - torch.log(1e-8 + d * d) - 1) / 2 for m, d in zip(mean, deviation, strict=True))
    assert isinstance(kl, torch.Tensor)
    theta = torch.exp(mean) / torch.exp(mean).sum()

    drift = None
    if config.version != 1:
        drift = cell("drift")
        drift = torch.log1p(torch.exp(drift)) if config.drift_constraint == "softplus" else drift
    hidden = torch.zeros(config.hidden_size, dtype=torch.float64)
    context = torch.zeros(config.embedding_size, dtype=torch.float64)
    steps: list[tuple[torch.Tensor, ...]] = []
    for number in history:
        item = table[number]
        scores = []
        for topic in range(config.num_topics):
            inner = (theta[topic] * cell("memory")[topic]) @ cell("topic_item") + hidden @ cell("topic_hidden")
            scores.append(torch.sigmoid(inner) @ cell("topic_vector")[:, 0])
        attention = torch.softmax(torch.stack(scores), dim=0)
        proposed = sum(
            (attention[topic] * cell("memory")[topic] for topic in range(config.num_topics)), torch.zeros(())
        )
        both = torch.cat([item, hidden])
        before = context
        write = torch.sigmoid(both @ cell("write") + before @ cell("write_context") + cell("write_bias"))
        context = (1 - write) * before + write * proposed
        update = torch.sigmoid(both @ cell("update") + context @ cell("update_context") + cell("update_bias"))
        reset = both @ cell("reset") + cell("reset_bias")
        if config.version == 1:
            gate = kept = torch.sigmoid(reset + before @ cell("reset_context"))
        elif config.version == 2:
            gate = kept = torch.sigmoid(reset + (item * context) @ drift)
        else:
            gate = torch.sigmoid((item * context) @ drift + cell("drift_bias"))
            kept = torch.sigmoid(reset) * gate
        candidate = torch.tanh(torch.cat([item, kept * hidden]) @ cell("candidate") + cell("candidate_bias"))
        hidden = (1 - update) * hidden + update * candidate
        steps.append((hidden, context, gate, attention))
    states, contexts, gates, topics = (torch.stack(each) for each in zip(*steps, strict=True))

    local = "hcrnn.readout.local"
    scores = [
        torch.sigmoid(weights[f"{local}.state.weight"] @ state + weights[f"{local}.last.weight"] @ hidden)
        @ weights[f"{local}.score.weight"][0]
        for state in states
    ]
    local_weights = torch.softmax(torch.stack(scores), dim=0)
    parts, of_contexts = [local_weights @ states, hidden], None
    if config.attention == "bi":
        first, last = (weights[f"hcrnn.readout.{name}.weight"] for name in ("context", "last_context"))
        products = torch.stack([(first @ each) @ (last @ context) for each in contexts])
        of_contexts = torch.softmax(products / math.sqrt(config.embedding_size), dim=0)
        parts.insert(0, of_contexts @ states)
    logits = table @ (weights["head.bilinear.weight"] @ torch.cat(parts))
    return Reading(theta, kl, states, contexts, gates, topics, local_weights, of_contexts, logits)
