"""What a `BetaLSTM` makes of a batch, and what it tells of the gates: divergence from the prior, means, correlation."""

import math
from dataclasses import dataclass

import torch

from .ops_beta_lstm_gates import (
    CELLS,
    compute_gates,
    estimate_gate_correlation,
    gamma_kl_divergence,
    shapes_from_preactivations,
)
from .ops_execution import disable_autocast
from .ops_recurrent import reverse_within_length

DEAD_SHAPE = 2e-3  # below it a shape has almost no gradient left, since softplus(u) is almost 0

State = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class GateStatistics:
    """The gates of one layer and direction at every step of a sequence; 0 at padding.

    Attributes:
        layer: Index of the layer, from 0.
        reverse: Whether the layer reads from the end.
        input_gate, forget_gate: (B, n, H) expectations E[i] and E[f] given the steps before; the gates themselves in
            cells that draw none.
        correlation: Correlation (B, n, H) of i and f as they are drawn, an estimate, near 0 where they are independent;
            0 for kumaraswamy; None for a cell whose gates are not drawn.
        shapes: (B, n, K, H) parameters alpha of the gates' distributions; None for a cell whose gates are not drawn.
        divergence: (B, n) divergence of the Gamma variables from their prior, summed over units; None without Gamma
            variables.
        dead_fraction: Fraction of the alpha at real steps that is below `DEAD_SHAPE`; None without alpha.
    """

    layer: int
    reverse: bool
    input_gate: torch.Tensor
    forget_gate: torch.Tensor
    correlation: torch.Tensor | None = None
    shapes: torch.Tensor | None = None
    divergence: torch.Tensor | None = None
    dead_fraction: float | None = None


@dataclass(frozen=True)
class Encoding:
    """What a `BetaLSTM` makes of a batch.

    Attributes:
        outputs: States behind each layer, (B, n, D) each, 0 at padding; D = H, or 2H with two directions side by side.
        state: h and c behind the last real step, (num_layers, B, H) each; with two directions (2 num_layers, B, H), in
            the order of `nn.LSTM`.
        gates: Pre-activations (n, B, K, H) of the gates of each layer and direction, in the order in which it read.
        mask: Boolean (B, n), True at real steps; None where all are.
        cell, eps, prior: Name of the cell, small number added to its parameters, and shapes of its prior.
        directions: Number of directions, 1 or 2.
    """

    outputs: list[torch.Tensor]
    state: State
    gates: list[torch.Tensor]
    mask: torch.Tensor | None
    cell: str
    eps: float
    prior: tuple[float, ...]
    directions: int

    def divergence(self) -> torch.Tensor:
        """Return the divergence of the Gamma variables from the prior at each step, in nats.

        Returns:
            (B, n) in float32 or wider: the sum over layers, directions, units and their Gamma variables; 0 at padding.

        Raises:
            ValueError: a cell without Gamma variables.
        """
        if not CELLS[self.cell].has_gamma_gates:
            raise ValueError(f"cell {self.cell!r} has no Gamma variables, so no divergence from a prior")
        divergences = [
            self._restore_sequence_order(self._sum_over_units(gates), number) for number, gates in enumerate(self.gates)
        ]
        return torch.stack(divergences).sum(dim=0)

    @torch.no_grad()
    def dead_fraction(self) -> torch.Tensor | None:
        """Return the fraction (a scalar) of the Gamma shapes alpha at real steps that are below `DEAD_SHAPE`.

        None for a cell whose gates are not drawn.
        """
        if not CELLS[self.cell].drawn:
            return None
        # Every alpha is above eps, so that none is that small.
        if self.eps >= DEAD_SHAPE:
            return self.state[0].new_zeros(())
        limit = math.log(math.expm1(DEAD_SHAPE - self.eps))  # alpha < DEAD_SHAPE where a pre-activation is below it
        # (B, n) of each layer and direction: the means over units are 0 at padding, so that the sum passes over it.
        parts = [
            self._restore_sequence_order((gates < limit).float().mean(dim=(2, 3)), place)
            for place, gates in enumerate(self.gates)
        ]
        steps = parts[0].numel() if self.mask is None else self.mask.sum().clamp(min=1)
        return torch.stack(parts).mean(dim=0).sum() / steps

    @torch.no_grad()
    def statistics(self, samples: int = 200, generator: torch.Generator | None = None) -> list[GateStatistics]:
        """Return means and correlation of the gates, an entry for each layer and direction, in the order of the state.

        Args:
            samples: Number of draws from which each correlation is estimated, with a standard error of about 1 /
                sqrt(samples).
            generator: Generator of the random numbers of these draws; None: one of a fixed seed, so that nothing else
                is drawn differently.
        """
        if generator is None:
            generator = torch.Generator(self.gates[0].device).manual_seed(0)
        return [
            self._estimate_layer_statistics(gates, number, samples, generator)
            for number, gates in enumerate(self.gates)
        ]

    def _estimate_layer_statistics(
        self, gates: torch.Tensor, index: int, samples: int, generator: torch.Generator
    ) -> GateStatistics:
        """Return the gates of one layer and direction: values, and estimates from random draws.

        `gates` are its pre-activations (n, B, K, H) and `index` is its place in `Encoding.gates`; `samples` is the
        number of draws for the correlation of both gates.
        """
        cell = CELLS[self.cell]
        pair = self._restore_sequence_order(compute_gates(self.cell, gates, self.eps), index)  # (B, n, 2, H)
        write, keep = pair.unbind(2) if cell.input_first else pair.flip(2).unbind(2)  # i and f
        layer_and_direction = index // self.directions, bool(index % self.directions)
        if not cell.drawn:
            return GateStatistics(*layer_and_direction, write, keep)
        alpha = shapes_from_preactivations(gates, self.eps)
        shapes, correlation, divergence = self._restore_sequence_order(alpha, index), torch.zeros_like(write), None
        if cell.has_gamma_gates:
            estimate = estimate_gate_correlation(self.cell, alpha, self.eps, samples, generator)
            correlation, divergence = (
                self._restore_sequence_order(estimate, index),
                self._restore_sequence_order(self._sum_over_units(gates), index),
            )
        real = shapes if self.mask is None else shapes[self.mask]
        dead = float((real < DEAD_SHAPE).double().mean()) if real.numel() else 0.0
        return GateStatistics(*layer_and_direction, write, keep, correlation, shapes, divergence, dead)

    def _sum_over_units(self, gates: torch.Tensor) -> torch.Tensor:
        """Return the divergence from the prior (n, B) of gates with pre-activations (n, B, K, H), summed over units."""
        with disable_autocast(gates.device):
            alpha = shapes_from_preactivations(gates, self.eps)
            prior = torch.tensor(self.prior, dtype=alpha.dtype, device=alpha.device).view(-1, 1)
            return gamma_kl_divergence(alpha, prior).sum(dim=(2, 3))

    def _restore_sequence_order(self, values: torch.Tensor, index: int) -> torch.Tensor:
        """Return values (n, B, ...) of these gates as (B, n, ...), in the order of the sequence, 0 at padding."""
        values = values.transpose(0, 1)
        if index % self.directions:
            lengths = None if self.mask is None else self.mask.sum(dim=1)
            # What stands behind the steps is laid out flat, as the reversal takes (B, n, d).
            values = reverse_steps(values.flatten(2) if values.dim() > 2 else values.unsqueeze(2), lengths).view(
                values.shape
            )
        if self.mask is None:
            return values
        return values * self.mask.view(*self.mask.shape, *[1] * (values.dim() - 2))


def reverse_steps(x: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """Return x (B, n, d) from the last real step to the first; without lengths all steps are real."""
    return x.flip(1) if lengths is None else reverse_within_length(x, lengths)
