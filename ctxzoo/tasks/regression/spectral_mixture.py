"""The spectral mixture kernel (Wilson and Adams 2013) for scikit-learn's Gaussian processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

Numbers = npt.NDArray[np.float64]
BOUNDS = (1e-5, 1e5)
JITTER = 1e-10  # what scikit-learn adds to the diagonal
PIECE = 2**12  # pairs of rows whose kernel is computed at once: what stays in a processor's cache


class SpectralMixture(StationaryKernelMixin, Kernel):
    """k(x, y) = sum_q w_q prod_d exp(-2 pi^2 t_d^2 v_qd^2) cos(2 pi t_d m_qd), t = x - y.

    Args:
        weights: (Q,) w, above 0.
        means: (Q, D) m, frequencies of the components, flattened.
        deviations: (Q, D) v, of the frequencies around them, flattened.
        parameter_bounds: of each of these numbers.
    """

    def __init__(
        self,
        weights: Any = (1.0,),
        means: Any = (1.0,),
        deviations: Any = (1.0,),
        parameter_bounds: tuple[float, float] = BOUNDS,
    ) -> None:
        self.weights = weights
        self.means = means
        self.deviations = deviations
        self.parameter_bounds = parameter_bounds

    @classmethod
    def drawn(cls, components: int, x: Numbers, variance: float, seed: int, reach: float = 1.0) -> SpectralMixture:
        """Return a kernel whose frequencies are drawn up to one of `reach`.

        Args:
            components: Q.
            x: (n, D) of the training rows, at least two different ones.
            variance: of the target, which the weights share.
            seed: of the draw.
            reach: 0: half a turn over the span of a feature; 1: half a turn between neighbouring values, from where a
                search in several dimensions seldom finds a smooth function; between, as powers.
        """
        draws = np.random.default_rng(seed)
        spans = np.ptp(x, axis=0)
        spans = np.where(spans > 0, spans, 1.0)
        gaps = [np.diff(np.unique(column)) for column in x.T]
        steps = np.array([np.median(gap) if len(gap) else 1.0 for gap in gaps])
        slow, fast = 0.5 / spans, 0.5 / np.maximum(steps, spans / len(x))
        highest = slow * (fast / slow) ** reach
        means = draws.random((components, x.shape[1])) * highest
        deviations = 1 / np.maximum(np.abs(draws.normal(size=means.shape)) * spans, 1e-3)
        weights = np.full(components, variance / components)
        clipped = [np.clip(values, *BOUNDS).ravel() for values in (weights, means, deviations)]
        return cls(*clipped)

    @property
    def hyperparameter_weights(self) -> Hyperparameter:
        return Hyperparameter("weights", "numeric", self.parameter_bounds, len(self.weights))

    @property
    def hyperparameter_means(self) -> Hyperparameter:
        return Hyperparameter("means", "numeric", self.parameter_bounds, len(self.means))

    @property
    def hyperparameter_deviations(self) -> Hyperparameter:
        return Hyperparameter("deviations", "numeric", self.parameter_bounds, len(self.deviations))

    def __call__(self, X: Numbers, Y: Numbers | None = None, eval_gradient: bool = False) -> Any:
        """Return the kernel of rows X (n, D) and Y (k, D), and its gradient by the logarithms of the parameters."""
        others = X if Y is None else Y
        size = X.shape[1]
        means, deviations = (np.reshape(values, (-1, size)) for values in (self.means, self.deviations))
        if not eval_gradient:
            step = max(1, PIECE // len(others))
            numbers = [torch.from_numpy(np.array(values)) for values in (self.weights, means, deviations)]
            parts = [
                _kernel_of(torch.from_numpy((X[rows, None] - others).reshape(-1, size)), *numbers).numpy()
                for rows in (slice(begin, begin + step) for begin in range(0, len(X), step))
            ]
            return np.concatenate(parts).reshape(len(X), len(others))
        gaps = X[:, None, :] - others[None, :, :]
        total: Numbers = np.zeros(gaps.shape[:2])
        by_weight, by_mean, by_deviation = [], [], []
        for weight, mean, deviation in zip(self.weights, means, deviations, strict=True):
            turns = 2 * np.pi * gaps * mean
            decay = weight * np.exp(-2 * np.pi**2 * ((gaps * deviation) ** 2).sum(axis=2))
            cosines = np.cos(turns)
            part = decay * cosines.prod(axis=2)
            total += part
            by_weight.append(part)
            for d in range(size):
                rest = np.delete(cosines, d, axis=2).prod(axis=2)
                by_mean.append(-decay * rest * np.sin(turns[:, :, d]) * turns[:, :, d])
                by_deviation.append(-4 * np.pi**2 * (gaps[:, :, d] * deviation[d]) ** 2 * part)
        # scikit-learn orders parameters by name: deviations, means, weights.
        return total, np.stack([*by_deviation, *by_mean, *by_weight], axis=2)

    def diag(self, X: Numbers) -> Numbers:
        """Return (n,) the kernel of each row with itself."""
        found: Numbers = np.full(len(X), float(np.sum(self.weights)))
        return found

    def __repr__(self) -> str:
        return f"SpectralMixture({len(self.weights)} components)"


def mixture_objective(x: Numbers, y: Numbers) -> Callable[[Numbers], tuple[float, Numbers]]:
    """Return -log p(y), and its gradient, as a function of the parameters of `SpectralMixture` plus a `WhiteKernel`.

    The same numbers as scikit-learn's `log_marginal_likelihood` gives, which makes an (n, n) table for each parameter;
    here gradients are summed as they are made, over each pair of rows once.

    Args:
        x: (n, D).
        y: (n,) as the process sees it, of mean 0 and variance 1.

    Returns:
        Of theta, the logarithms of the parameters in scikit-learn's order: deviations, means, weights and noise.
        Where the kernel is not positive definite, infinity and zeros.
    """
    rows, targets = torch.from_numpy(np.ascontiguousarray(x)), torch.from_numpy(np.ascontiguousarray(y))
    number, size = x.shape
    first, second = torch.triu_indices(number, number, offset=1)
    gaps = rows[first] - rows[second]
    pieces = [slice(begin, begin + PIECE) for begin in range(0, len(gaps), PIECE)]

    def objective(theta: Numbers) -> tuple[float, Numbers]:
        logarithms = torch.from_numpy(theta.copy()).requires_grad_()
        values = logarithms.exp()
        components = (len(theta) - 1) // (2 * size + 1)
        deviations, means = values[: 2 * components * size].view(2, components, size)
        weights, noise = values[-components - 1 : -1], values[-1]
        diagonal = weights.sum() + noise
        with torch.no_grad():
            pairs = torch.cat([_kernel_of(gaps[piece], weights, means, deviations) for piece in pieces])
            kernel = torch.zeros(number, number, dtype=torch.float64)
            kernel[first, second] = pairs
            kernel = kernel + kernel.T + torch.eye(number, dtype=torch.float64) * (diagonal + JITTER)
            factor, failed = torch.linalg.cholesky_ex(kernel)
            if failed:
                return math.inf, np.zeros_like(theta)
            solved = torch.cholesky_solve(targets.unsqueeze(1), factor)
            of_kernel = (torch.cholesky_inverse(factor) - solved @ solved.T) / 2
            value = targets @ solved.squeeze(1) / 2 + factor.diagonal().log().sum()
            value += number * math.log(2 * math.pi) / 2
        of_pairs = 2 * of_kernel[first, second]
        torch.autograd.backward(diagonal, of_kernel.trace(), retain_graph=True)
        for piece in pieces:
            part = _kernel_of(gaps[piece], weights, means, deviations)
            torch.autograd.backward(part, of_pairs[piece], retain_graph=True)
        assert logarithms.grad is not None
        return float(value), logarithms.grad.numpy()

    return objective


def _kernel_of(
    gaps: torch.Tensor, weights: torch.Tensor, means: torch.Tensor, deviations: torch.Tensor
) -> torch.Tensor:
    """Return (P,) the kernel of gaps (P, D), by components (Q,) and (Q, D)."""
    decays = torch.exp(-2 * math.pi**2 * (gaps.square() @ deviations.square().T))
    waves = [torch.cos(gaps * (2 * math.pi * mean)).prod(dim=1) for mean in means]
    return (decays * torch.stack(waves, dim=1)) @ weights
