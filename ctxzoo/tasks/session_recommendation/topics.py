"""The topics of HCRNN: which items make which topic likely."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.training.scoring import in_evaluation_mode

SESSIONS = 1024  # sessions of one item that are read at once


def topic_items(model: ZooPreTrainedModel, k: int = 5) -> list[list[tuple[str, float]]]:
    """Return the items that each topic is about, with the weight of the topic in a session of that item alone.

    The global context θ of a session of one item is softmax(μ); an item stands with a topic by its θ there.

    Args:
        model: an HCRNN.
        k: items of a topic.

    Returns:
        For each topic the names of k items with θ, the highest first.

    Raises:
        ValueError: a model without topics; k below 1 or above the number of items.
    """
    reader: Any = getattr(model, "hcrnn", None)
    if reader is None:
        raise ValueError(f"a {type(model).__name__} has no topics; expected an HcrnnForNextItem")
    items = model.config.num_items
    if not 1 <= k <= items:
        raise ValueError(f"k is {k}; expected 1 to {items}, the number of items")
    ids = torch.arange(1, items + 1, device=model.device).unsqueeze(1)
    with in_evaluation_mode(model):
        parts = torch.split(ids, SESSIONS)
        theta = torch.cat([reader(input_ids=part, return_dict=True).theta for part in parts])
    weights, rows = theta.float().topk(k, dim=0)
    return [
        [(model.config.name_of(int(row) + 1), float(weight)) for row, weight in zip(*column, strict=True)]
        for column in zip(rows.t(), weights.t(), strict=True)
    ]
