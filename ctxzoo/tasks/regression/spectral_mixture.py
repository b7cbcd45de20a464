"""The spectral mixture kernel (Wilson and Adams 2013) for scikit-learn's Gaussian processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

Numbers = npt.NDArray[np.float64]
BOUNDS = (1e-5, 1e5)
JITTER = 1e-10  # what scikit-learn adds to the diagonal
TINY = 1e-200  # added to cosines, it changes none but 0
PIECE = 2**13  # pairs of rows whose kernel is computed at once: what stays in a processor's cache


class SpectralMixture(StationaryKernelMixin, Kernel):
    """k(x, y) = sum_q w_q prod_d exp(-2 pi^2 t_d^2 v_qd^2) cos(2 pi t_d m_qd), t = x - y.

    Args:
        weights: (Q,) weight w of each of Q mixture components, above 0.
        means: (Q, D) mean frequency of each of Q components along each of D features, flattened.
        deviations: (Q, D) standard deviation of the frequencies of each of Q components along each of D features,
            flattened.
        parameter_bounds: Lower and upper bound of every parameter in the optimization.
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
    def from_random_frequencies(
        cls, components: int, x: Numbers, variance: float, seed: int, reach: float = 1.0
    ) -> SpectralMixture:
        """Return a kernel with random frequencies for features x, the highest limited by `reach`.

        Args:
            components: Number Q of mixture components.
            x: (n, D) values of D features in n training rows, of which at least two differ.
            variance: Variance of the target, which is divided evenly among the component weights.
            seed: Seed of the random draw.
            reach: Exponent, 0 to 1, of the highest frequency: 0, half a period over a feature's range; 1, half a period
                between neighbouring values, where optimization often fails in several dimensions.
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
        """The weights of the components (Q,), for scikit-learn."""
        return Hyperparameter("weights", "numeric", self.parameter_bounds, len(self.weights))

    @property
    def hyperparameter_means(self) -> Hyperparameter:
        """The mean frequencies of the components, flattened, for scikit-learn."""
        return Hyperparameter("means", "numeric", self.parameter_bounds, len(self.means))

    @property
    def hyperparameter_deviations(self) -> Hyperparameter:
        """The deviations of the frequencies, flattened, for scikit-learn."""
        return Hyperparameter("deviations", "numeric", self.parameter_bounds, len(self.deviations))

    def __call__(self, X: Numbers, Y: Numbers | None = None, eval_gradient: bool = False) -> Any:
        """Return the kernel (n, k) of rows X (n, D) and Y (k, D), and its gradient by the log parameters."""
        right = X if Y is None else Y
        size = X.shape[1]
        means, deviations = (np.reshape(values, (-1, size)) for values in (self.means, self.deviations))
        if not eval_gradient:
            step = max(1, PIECE // len(right))
            numbers = [torch.from_numpy(np.array(values)) for values in (self.weights, means, deviations)]
            parts = [
                _compute_kernel(torch.from_numpy((X[rows, None] - right).reshape(-1, size)), *numbers).numpy()
                for rows in (slice(begin, begin + step) for begin in range(0, len(X), step))
            ]
            return np.concatenate(parts).reshape(len(X), len(right))
        gaps = X[:, None, :] - right[None, :, :]
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
        """Return the kernel (n,) of each row with itself."""
        found: Numbers = np.full(len(X), float(np.sum(self.weights)))
        return found

    def __repr__(self) -> str:
        return f"SpectralMixture({len(self.weights)} components)"


def build_likelihood_objective(x: Numbers, y: Numbers) -> Callable[[Numbers], tuple[float, Numbers]]:
    """Return -log p(y), and its gradient, as a function of the parameters of `SpectralMixture` plus a `WhiteKernel`.

    The same numbers as scikit-learn's `log_marginal_likelihood` gives, which makes an (n, n) table for each parameter;
    here gradients are summed as they are made, over each pair of rows once. Cosines of differences follow from sines
    and cosines of rows, cos(a - b) = cos a cos b + sin a sin b.

    Args:
        x: (n, D) values of D features in n rows.
        y: (n,) target value of each of n rows, standardized to mean 0 and variance 1.

    Returns:
        Of theta, the logarithms of the parameters in scikit-learn's order: deviations, means, weights and noise.
        Where the kernel is not positive definite, infinity and zeros.
    """
    columns, targets = torch.from_numpy(np.ascontiguousarray(x.T)), torch.from_numpy(np.ascontiguousarray(y))
    number, size = x.shape

    def objective(theta: Numbers) -> tuple[float, Numbers]:
        """Return the negative log-likelihood and its gradient at `theta`, the logarithms of the kernel's parameters."""
        values = torch.from_numpy(theta).exp()
        components = (len(theta) - 1) // (2 * size + 1)
        deviations, means = values[: 2 * components * size].view(2, components, size)
        weights, noise = values[-components - 1 : -1], values[-1]
        turns = 2 * math.pi * means.unsqueeze(2) * columns
        waves = _PairedRows(columns, turns.cos(), turns.sin())
        blocks = list(_split_rows_into_blocks(number))
        kernel = torch.empty(number, number, dtype=torch.float64)  # of which the lower half is read
        all_decays = [
            _compute_gaussian_decays(waves.compute_differences(block).square(), deviations) for block in blocks
        ]
        for block, decays in zip(blocks, all_decays, strict=True):
            products = torch.stack([waves.compute_cosines(q, block).prod(dim=0) for q in range(components)])
            kernel[block.start :, block] = torch.tensordot(weights, decays * products, dims=1).T
        kernel.diagonal().add_(noise + JITTER)
        factor, failed = torch.linalg.cholesky_ex(kernel)
        if failed:
            return math.inf, np.zeros_like(theta)
        solved = torch.cholesky_solve(targets.unsqueeze(1), factor)
        value = targets @ solved.squeeze(1) / 2 + factor.diagonal().log().sum() + number * math.log(2 * math.pi) / 2
        of_kernel = (torch.cholesky_inverse(factor) - solved @ solved.T) / 2
        of_noise = noise * of_kernel.trace()
        of_kernel = 2 * of_kernel.tril(-1) + torch.diag(of_kernel.diagonal())  # each pair once
        slopes = torch.zeros(2, components, size, dtype=torch.float64)  # by logarithms of deviations and means
        of_weights = torch.zeros(components, dtype=torch.float64)
        for block, decays in zip(blocks, all_decays, strict=True):
            gaps = waves.compute_differences(block)
            squares = gaps.square()
            decays *= of_kernel[block.start :, block].T
            for q in range(components):
                cosines = waves.compute_cosines(q, block).add_(TINY)  # each is taken out of the product again
                parts = weights[q] * (decays[q] * cosines.prod(dim=0)).flatten()
                tangents = waves.compute_sines(q, block).div_(cosines).mul_(gaps)
                slopes[0, q] -= 4 * math.pi**2 * deviations[q].square() * (squares.flatten(1) @ parts)
                slopes[1, q] -= 2 * math.pi * means[q] * (tangents.flatten(1) @ parts)
                of_weights[q] += parts.sum()
        return float(value), torch.cat([slopes.flatten(), of_weights, of_noise.view(1)]).numpy()

    return objective


class _PairedRows(NamedTuple):
    """Rows of which a block is compared with itself and all that follow: (D, b, m), m rows from the block's first on.

    Attributes:
        columns: (D, n) values of D features in n rows, transposed.
        of_cosine, of_sine: (Q, D, n) cosine and sine of 2 pi times feature value times mean frequency, for Q
            components, D features and n rows.
    """

    columns: torch.Tensor
    of_cosine: torch.Tensor
    of_sine: torch.Tensor

    def compute_differences(self, block: slice) -> torch.Tensor:
        """Return the differences of the features of a block of rows and all later rows."""
        return self.columns[:, block, None] - self.columns[:, None, block.start :]

    def compute_cosines(self, q: int, block: slice) -> torch.Tensor:
        """Return the cosines of the angle differences of component q, for a block of rows and all later rows."""
        cosine, sine = self.of_cosine[q], self.of_sine[q]
        first = cosine[:, block, None] * cosine[:, None, block.start :]
        return first.addcmul_(sine[:, block, None], sine[:, None, block.start :])

    def compute_sines(self, q: int, block: slice) -> torch.Tensor:
        """Return the sines of the angle differences of component q, for a block of rows and all later rows."""
        cosine, sine = self.of_cosine[q], self.of_sine[q]
        first = sine[:, block, None] * cosine[:, None, block.start :]
        return first.addcmul_(cosine[:, block, None], sine[:, None, block.start :], value=-1)


def _compute_gaussian_decays(squares: torch.Tensor, deviations: torch.Tensor) -> torch.Tensor:
    """Return the decay of each component, exp(-2 pi^2 sum_d t_d^2 v_qd^2), from squared differences (D, ...) and
    deviations (Q, D).
    """
    return torch.exp(-2 * math.pi**2 * torch.tensordot(deviations.square(), squares, dims=1))


def _split_rows_into_blocks(num_rows: int) -> Iterator[slice]:
    """Yield slices of rows, each with about `PIECE` pairs of a row in it and a later one, to bound memory."""
    begin = 0
    while begin < num_rows:
        end = min(num_rows, begin + max(1, PIECE // (num_rows - begin)))
        yield slice(begin, end)
        begin = end


def _compute_kernel(
    differences: torch.Tensor, weights: torch.Tensor, means: torch.Tensor, deviations: torch.Tensor
) -> torch.Tensor:
    """Return the kernel (P,) of P differences (P, D), from component weights (Q,), means and deviations (Q, D)."""
    waves = torch.stack([torch.cos(differences * (2 * math.pi * mean)).prod(dim=1) for mean in means])
    return weights @ (_compute_gaussian_decays(differences.T.square(), deviations) * waves)
