"""The cells of the Beta-LSTM written from their equations, one step and one gate after the other, in float64."""

from __future__ import annotations

import torch
from torch.distributions import Gamma

BLOCKS = {"lstm": 4, "coupled": 3, "g2": 4, "noisin": 4, "beta": 6, "bibeta3": 5, "bibeta5": 7, "kumaraswamy": 6}
RANDOM_GAMMAS = ("beta", "bibeta3", "bibeta5")


def reference_gates(
    cell: str, blocks: tuple[torch.Tensor, ...], eps: float, noise: torch.Tensor | None, drawn: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return i and f, (B, H) each, of the blocks before o and g; `noise` is log V (B, 2, H) of kumaraswamy."""
    if cell in ("lstm", "noisin"):
        return torch.sigmoid(blocks[1]), torch.sigmoid(blocks[0])
    if cell == "g2":
        return torch.sigmoid(blocks[1] / 0.9), torch.sigmoid(blocks[0] / 0.9)
    if cell == "coupled":
        i = torch.sigmoid(blocks[0])
        return i, 1 - i
    shapes = [torch.log1p(torch.exp(block)) + eps for block in blocks]
    if cell == "kumaraswamy":
        gates = []
        for number in range(2):
            a, b = shapes[2 * number], shapes[2 * number + 1]
            if drawn:
                assert noise is not None
                uniform = noise[:, number].exp()
                gates.append((1 - uniform ** (1 / b)) ** (1 / a))
            else:
                beta_function = (torch.lgamma(1 + 1 / a) + torch.lgamma(b) - torch.lgamma(1 + 1 / a + b)).exp()
                gates.append(b * beta_function)
        i, f = (gate.clamp(1e-6, 1 - 1e-6) for gate in gates)
        return i, f
    if drawn:
        draws = Gamma(torch.cat(shapes, dim=1), 1.0).rsample() + eps
        shapes = list(draws.chunk(len(shapes), dim=1))
    if cell == "beta":
        u1, u2, u3, u4 = shapes
        return u1 / (u1 + u2), u3 / (u3 + u4)
    if cell == "bibeta3":
        u0, u1, u2 = shapes
        return u1 / (u1 + u2), u0 / (u0 + u2)
    u1, u2, u3, u4, u5 = shapes
    return (u1 + u3) / (u1 + u3 + u4 + u5), (u2 + u4) / (u2 + u4 + u3 + u5)


def reference_layer(
    cell: str,
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    state: tuple[torch.Tensor, torch.Tensor],
    *,
    eps: float = 1e-3,
    drawn: bool = False,
    noise: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c of each step, (n, B, H), of x (n, B, I) with W_ih, W_hh and b; `noise`, `scale`: one a step."""
    weight_ih, weight_hh, bias = weights
    h, c = state
    states, memories = [], []
    for step, given in enumerate(x):
        blocks = (given @ weight_ih.T + bias + h @ weight_hh.T).chunk(BLOCKS[cell], dim=1)
        *of_gates, o, g = blocks
        i, f = reference_gates(cell, tuple(of_gates), eps, None if noise is None else noise[step], drawn)
        c = f * c + i * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        if scale is not None:
            h = h * scale[step]
        states.append(h)
        memories.append(c)
    return torch.stack(states), torch.stack(memories)
