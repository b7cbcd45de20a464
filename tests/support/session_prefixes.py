"""What a model of sessions reads behind every position at once, beside what it reads of each prefix alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ctxzoo.models.ops_words import IGNORED

# Padding before, between and behind items, a session of one item, and one item that nobody predicts.
IDS = torch.tensor([[0, 3, 7, 7, 1, 12, 5], [5, 0, 0, 0, 0, 0, 0], [2, 0, 2, 9, 0, 4, 0]])
LABELS = torch.tensor([[6, 7, 7, 1, 12, 5, 11], [2, 8, 8, 8, 8, 8, 8], [2, 3, IGNORED, 4, 9, 10, 1]])


def check_every_position(model: Any, names: Sequence[str] = ("logits",)) -> None:
    """Compare outputs by name, the loss and all gradients, of a model in float64 and in evaluation mode."""
    close = {"rtol": 1e-10, "atol": 1e-12}
    together = model(IDS, labels=LABELS, every_position=True)
    assert together.logits.shape == (*IDS.shape, model.config.num_items + 1)
    losses = []
    for row, step in (IDS > 0).nonzero().tolist():
        label = LABELS[row, step]
        alone = model(IDS[row : row + 1, : step + 1], labels=label.view(1).clamp(min=1))
        for name in names:
            torch.testing.assert_close(together[name][row, step], alone[name][0], **close)
        if label != IGNORED:
            losses.append(alone.loss)
    assert len(losses) == 10
    loss = torch.stack(losses).mean()
    torch.testing.assert_close(together.loss, loss, **close)
    parameters = list(model.parameters())
    of_together, of_alone = (torch.autograd.grad(each, parameters) for each in (together.loss, loss))
    for found, expected in zip(of_together, of_alone, strict=True):
        assert expected.any()  # else it would show nothing
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
